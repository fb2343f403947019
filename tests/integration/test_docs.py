# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tests that documented options, keys and commands exist."""

import os
import pathlib
import re
import shutil

import pytest

from conftest import LOADGEN, ROOT, analyze, git, run


def long_options(text):
    return set(re.findall(r"--([a-z][a-z-]+)", text))


TOPICS = {"analyze": ["load", "ends", "serving", "sweep", "timeline", "top", "exporter", "measuring"], "loadgen": ["load", "ends", "serving"]}
PROGRAMS = {"analyze": ROOT / "analyze", "loadgen": LOADGEN}


def help_of(program, topic=None):
    done = run(PROGRAMS[program], f"--help={topic}" if topic else "--help")
    assert done.returncode == 0 and done.stderr == ""
    return done.stdout


PAGES = sorted((ROOT / "docs/man").iterdir())


def documented(page):
    """Returns the options that have a paragraph on the man page."""
    return set(re.findall(r"^\.TP\n\.BI? .*?--([a-z][a-z-]+)", page.read_text().replace("\\-", "-"), re.M))


def test_man_pages_and_help_agree():
    """Includes the options of Python's commands, which its parsers read from a table."""
    offered = long_options(help_of("analyze", "all"))
    of_measuring = {page.stem: documented(page) for page in PAGES if page.stem not in (
        "sendpath-advise", "sendpath-compare", "sendpath-report")}
    assert offered | {"hooks"} == set().union(*of_measuring.values()) | {"help", "hooks", "usage", "version"}
    assert documented(ROOT / "docs/man/sendpath-advise.1") | {"help"} == long_options(
        run(PROGRAMS["analyze"], "advise", "--help").stdout)
    assert documented(ROOT / "docs/man/sendpath-loadgen.1") | {"help", "usage", "version"} == long_options(
        help_of("loadgen", "all"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_man_pages_are_sound_and_short(page):
    assert len(page.read_text().splitlines()) <= (290 if page.stem == "sendpath" else 150)
    if not shutil.which("man"):
        pytest.skip("man is not installed")
    shown = run("man", "--warnings", "-l", page, env={**os.environ, "MANPAGER": "cat", "LC_ALL": "C.UTF-8"})
    assert shown.returncode == 0 and shown.stderr == "" and "SYNOPSIS" in shown.stdout


@pytest.mark.parametrize("program", PROGRAMS)
def test_help_fits_a_screen(program):
    for topic in [None, *TOPICS[program]]:
        lines = help_of(program, topic).splitlines()
        assert 0 < len(lines) <= 55
        assert max(map(len, lines)) <= 80


@pytest.mark.parametrize("program", PROGRAMS)
def test_every_option_is_in_a_topic(program):
    """The short help names all topics. The topics together show all options."""
    shown = long_options(help_of(program))
    assert f"of {', '.join(TOPICS[program])} or all." in " ".join(help_of(program).split())
    for topic in TOPICS[program]:
        shown |= long_options(help_of(program, topic))
    listed = long_options(run(PROGRAMS[program], "--usage").stdout)
    assert shown == long_options(help_of(program, "all")) == listed
    assert "control" not in shown


@pytest.mark.parametrize("words,same", [
    (["help"], ["--help"]), (["help", "sweep"], ["sweep", "--help"]), (["help", "load"], ["--help=load"]),
    (["--help", "all"], ["--help=all"]), (["help", "advise"], ["advise", "--help"]),
    (["help", "compare"], ["compare", "--help"]), (["help", "doctor"], ["doctor", "--help"])])
def test_ways_to_request_help(words, same):
    one, other = run(PROGRAMS["analyze"], *words), run(PROGRAMS["analyze"], *same)
    assert one.returncode == other.returncode == 0 and one.stdout == other.stdout != ""


def test_help_lists_the_commands_first():
    listed = re.findall(r"^  ([a-z]+) +\S", help_of("analyze").partition("\n\n The load")[0], re.M)
    assert listed == sorted(listed) and {"advise", "sweep", "report", "doctor"} < set(listed)
    block = help_of("analyze").partition(" Commands:\n")[2].partition("\n\n")[0]
    assert len(block.splitlines()) == len(listed)
    for command in listed:
        assert run(PROGRAMS["analyze"], "help", command).returncode == 0


def test_an_unknown_topic_is_refused():
    for program in PROGRAMS.values():
        done = run(program, "--help=nothing")
        assert done.returncode == 2 and done.stdout == ""
        assert done.stderr.count("\n") == 1 and "--help=nothing: no such topic; give load, " in done.stderr


@pytest.mark.parametrize("command", ["make run", "make check", "./analyze doctor",
                                     "./analyze --variant zerocopy"])
def test_readme_shows_the_commands(command):
    assert command in (ROOT / "README.md").read_text()


def links(page):
    """Returns the files to which a page links."""
    return {target.partition("#")[0] for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text())
            if not re.match(r"https?:|#", target)}


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", *sorted(
    str(page.relative_to(ROOT)) for page in (ROOT / "docs").glob("*.md"))])
def test_links_lead_somewhere(page):
    missing = {name for name in links(ROOT / page) if not (ROOT / page).parent.joinpath(name).exists()}
    assert not missing


def test_readme_is_for_a_newcomer():
    """README.md is short, and links to every page, directly or by other pages."""
    readme = ROOT / "README.md"
    assert len(readme.read_text().splitlines()) <= 120
    linked = {pathlib.Path(name).name for name in links(readme)}
    assert {page.name for page in (ROOT / "docs").glob("*.md")} <= linked


def test_every_source_names_its_licence():
    listed = git("ls-files")
    if listed.returncode:
        pytest.skip("not a git checkout: " + listed.stderr.strip())
    exempt = re.compile(r"LICENSE|^NEWS$|\.jsonl?$|\.gitignore|\.editorconfig|\.clang-format|types\.txt$"
                        r"|README.md$|\.png$|^tests/fuzz/corpus/|^tests/fixtures/(text|analysis)/|^deploy/debian/changelog$")
    for name in listed.stdout.splitlines():
        if not exempt.search(name):
            head = (ROOT / name).read_text(errors="replace")[:400]
            assert "SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause" in head, name


@pytest.fixture(scope="module", name="installed")
def _installed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("installed")
    made = run("make", "-s", "install", f"DESTDIR={folder}", "PREFIX=/opt", cwd=ROOT)
    assert made.returncode == 0, made.stderr
    return folder / "opt"


def test_installed_pages_lead_to_installed_pages(installed):
    pages = list((installed / "share/doc/sendpath").glob("*.md"))
    missing = {(page.name, name) for page in pages for name in links(page) if not (page.parent / name).exists()}
    assert {page.name for page in pages} == {page.name for page in (ROOT / "docs").glob("*.md")} and not missing
    news = (installed / "share/doc/sendpath/NEWS").read_text()
    assert news.startswith(f"sendpath {analyze('--version').stdout.split()[1]},")


def test_install_and_run(installed):
    """Installed under another prefix, the program finds its parts."""
    program = installed / "bin/sendpath"
    assert "sendpath" in run(program, "--version").stdout
    result = run(program, "--variant", "null", "--duration", "0.1")
    assert "load generator is missing" not in result.stderr
    assert result.returncode in (0, 3), result.stderr
