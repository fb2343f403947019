# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Writes the report as HTML and Markdown. Escapes all texts, because texts of records are not trusted."""

import base64
import pathlib
import re

import jinja2

from analysis import table
from analysis.faults import FAILED, Fault
from analysis.figures import style
from analysis.figures.ratio import COLORS
from analysis.figures.save import EMBED, FORMATS, POLICY, library, script_json
from analysis.notes import clean
from analysis.report.build import Report
from analysis.words import starting

_PAGES = pathlib.Path(__file__).parent
_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>#|!~&$])")
# At the beginning of a line, these characters would begin a list or a heading.
_BEGINNING = re.compile(r"^(\d*)([-+=.)])(?=\s|$)")


def markdown_text(value: object) -> str:
    """Returns a text as one line of Markdown, without markup or HTML."""
    line = clean(" ".join(str(value).split()))
    line = _MARKDOWN.sub(r"\\\1", line)
    return _BEGINNING.sub(r"\1\\\2", line)


def _code(value: str) -> str:
    """Returns a line for a fenced block: nothing in it can end the fence."""
    return clean(value).replace("```", "'''")


def _data_uri(drawn: bytes) -> str:
    """Returns the picture as a data URI, with the colours of a dark page for browsers that prefer a dark page."""
    root, rest = drawn.decode().split(">", 1)
    both = f"{root}><style>{style.dark_css()}</style>{rest}"
    return "data:image/svg+xml;base64," + base64.b64encode(both.encode()).decode()


def split_next(text: str) -> tuple[str, str]:
    """Returns the words of a next step, and the command in it, "" if it has none."""
    begin, found, rest = text.partition("sudo ")
    return begin, found + rest


def command(text: str) -> jinja2.utils.markupsafe.Markup:
    """Returns the next step as HTML: its words, and the command in it, whose words are not broken across lines."""
    markup = jinja2.utils.markupsafe.Markup
    begin, typed = split_next(text)
    if not typed:
        return markup.escape(text)
    words = markup(" ").join(markup("<span>{}</span>").format(clean(word)) for word in typed.split())
    return markup("{}<code>{}</code>").format(clean(begin), words)


def _environment(**options) -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_PAGES), undefined=jinja2.StrictUndefined,
        trim_blocks=True, lstrip_blocks=True, **options)
    environment.filters.update(data_uri=_data_uri, code=_code, starting=starting, command=command)
    return environment


def html(report: Report) -> str:
    """Returns the report as one HTML file for which a browser fetches nothing else."""
    environment = _environment(autoescape=True, finalize=lambda value: clean(value) if isinstance(
        value, str) and not hasattr(value, "__html__") else value)
    specs = {picture.name: picture.specs for picture in report.all_pictures}
    return environment.get_template("page.html.j2").render(
        report=report, policy=POLICY, colors=COLORS, dark=style.dark_css(), paper=style.DARK[style.PAPER],
        specs=jinja2.utils.markupsafe.Markup(script_json(specs)),
        embed=jinja2.utils.markupsafe.Markup(script_json(EMBED)),
        library=jinja2.utils.markupsafe.Markup(library()))


def markdown(report: Report) -> str:
    """Returns the report as Markdown; its pictures are the SVG files in the folder figures."""
    environment = _environment(autoescape=False, finalize=lambda value: value if isinstance(
        value, _Plain) else markdown_text(value))
    environment.filters["plain"] = _Plain
    return environment.get_template("page.md.j2").render(report=report)


class _Plain(str):
    """Text that is not escaped in Markdown: lines of a fenced block, and names of our own files."""


def _put(path: pathlib.Path, content: bytes) -> None:
    table.write(path, lambda file: file.write(content))


def write(report: Report, folder: pathlib.Path, formats: list[str]) -> list[pathlib.Path]:
    """Writes report.html, report.md, figures/NAME.FORMAT and, if sends were divided, stages.folded into a folder.
    Returns the pages. Raises Fault.

    formats: keys of FORMATS. SVG is always written, because the Markdown shows it.
    """
    figures = folder / "figures"
    try:
        figures.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Fault(f"{figures}: cannot be made: {error.strerror}", FAILED) from None
    for picture in report.all_pictures:
        _put(figures / f"{picture.name}.svg", picture.svgs[0])
        for name in formats:
            if name != "svg":
                _put(figures / f"{picture.name}.{name}", FORMATS[name](picture.specs[0]))
    pages = [(folder / "report.html", html(report)), (folder / "report.md", markdown(report))]
    if report.folded:
        pages.append((folder / "stages.folded", "".join(f"{line}\n" for line in report.folded)))
    for path, content in pages:
        _put(path, content.encode())
    return [path for path, _ in pages]
