# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Saves a chart as a picture, or as a page that draws it. A page contains all libraries and fetches nothing."""

import functools
import json
import pathlib
import re
import sys
from html import escape
from typing import Callable

import altair as alt
import vl_convert

from analysis.figures import style

LIBRARY = pathlib.Path(sys.prefix) / "vega.js"
# A PNG has this many pixels, in each direction, for each pixel of the chart, to be sharp in print.
PNG_SCALE = 2.0


# XML does not allow these characters: vl-convert ends the program if a text has one of them.
_NO_TEXT = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def _texts_cleaned(value: object) -> object:
    if isinstance(value, str):
        return _NO_TEXT.sub("?", value)
    if isinstance(value, dict):
        return {_texts_cleaned(key): _texts_cleaned(item) for key, item in value.items()}
    return [_texts_cleaned(item) for item in value] if isinstance(value, list) else value


def spec(chart: alt.TopLevelMixin) -> dict:
    """Returns the chart as Vega-Lite, without the address of the schema. The chart is not checked against the schema,
    which would take as long as drawing; tests check each figure.
    """
    # The result includes the data; this lifts altair's limit on their rows.
    with alt.data_transformers.enable("default", max_rows=None):
        described = chart.to_dict(validate=False)
    described.pop("$schema", None)
    return _texts_cleaned(described)


def script_json(value: object) -> str:
    """Returns JSON for a script element: no text in it can end the element."""
    return json.dumps(value, ensure_ascii=False).replace("<", "\\u003c").replace(
        "\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _bundle() -> str:
    return vl_convert.javascript_bundle().replace("</script", "<\\/script")


@functools.lru_cache(maxsize=1)
def library() -> str:
    """Returns the JavaScript that draws, as one script; no text in it ends the script element. Bundling it takes longer
    than the rest of a page, so python3 -m analysis.figures.save writes it to a file of the environment.
    """
    try:
        return LIBRARY.read_text(encoding="utf-8")
    except FileNotFoundError:
        return _bundle()


def png(described: dict) -> bytes:
    return vl_convert.vegalite_to_png(described, scale=PNG_SCALE)


def svg(described: dict) -> bytes:
    return vl_convert.vegalite_to_svg(described).encode()


# The policy allows a page to run its own scripts, and forbids requests.
POLICY = ("default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; "
          "style-src 'unsafe-inline'; img-src data: blob:")
# Options of vegaEmbed. The charts have no schema, so without a mode vegaEmbed would take charts below each
# other (concat) for Vega. Links below a picture save it; none opens an editor on the network. vegaEmbed's own
# style would cover the title with a menu.
EMBED = {"mode": "vega-lite", "renderer": "svg", "defaultStyle": False,
         "actions": {"export": True, "source": False, "compiled": False, "editor": False}}


# The style of a page with one figure, light or dark as the browser prefers.
STYLE = (":root { color-scheme: light dark; } body { font-family: %s; margin: 1rem; } "
         ".vega-actions a { margin-right: 1rem; } "
         "@media screen and (prefers-color-scheme: dark) { body { background: %s; color: #e4e4e4; } } %s"
         % (style.FONT, style.DARK[style.PAPER], style.dark_css()))


def html(title: str, wide: dict, narrow: dict) -> bytes:
    """Returns a page that draws the wide or the narrow chart, whichever fits its window, and fetches nothing."""
    return ('<!DOCTYPE html><html lang="en"><meta charset="utf-8">'
            f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            f"<title>{escape(title)}</title><style>{STYLE}</style><div id=figure></div>"
            f"<script>{library()}</script><script>"
            f"vegaEmbed('#figure', matchMedia('(max-width: 40rem)').matches ? {script_json(narrow)} : "
            f"{script_json(wide)}, {script_json(EMBED)})</script>\n").encode()


FORMATS: dict[str, Callable[[dict], bytes]] = {"svg": svg, "png": png}

if __name__ == "__main__":
    LIBRARY.write_text(_bundle(), encoding="utf-8")
