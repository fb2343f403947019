# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tests that speedscope, from the npm registry and in a browser, reads the files of --folded."""

import base64
import collections
import json
import pathlib
import shutil
import subprocess
import sys

import pytest
from playwright.sync_api import sync_playwright

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

# pylint: disable=wrong-import-position
from analysis.text.cells import Cells  # noqa: E402 (by the names that the front has)
from analysis.text.profile import folded  # noqa: E402

CHROMIUM, NPM = shutil.which("chromium"), shutil.which("npm")
SPEEDSCOPE = "speedscope@1.25.0"


@pytest.fixture(scope="module")
def page_of_speedscope(tmp_path_factory):
    if not CHROMIUM or not NPM:
        pytest.skip("no chromium or no npm: apt-get install chromium npm")
    folder = tmp_path_factory.mktemp("npm")
    try:
        packed = subprocess.run([NPM, "pack", "--silent", SPEEDSCOPE], cwd=folder, capture_output=True, text=True,
                                timeout=120, check=True)
    except subprocess.SubprocessError as error:
        pytest.skip(f"{SPEEDSCOPE} cannot be fetched: {error}: {str(error.stderr)[-200:]}")
    shutil.unpack_archive(folder / packed.stdout.strip(), folder)
    return folder / "package/dist/release/index.html"


def lines_of(record):
    cells = Cells()
    cells.add(record)
    cells.name()
    return list(folded(cells))


def imported(index, lines, folder):
    """Opens a file with these lines in speedscope. Returns the profile that it saves in its own format."""
    script = folder / "open.js"
    content = base64.b64encode("".join(f"{line}\n" for line in lines).encode()).decode()
    script.write_text(f'speedscope.loadFileFromBase64("sends.folded", "{content}")')
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page()
        page.goto(f"file://{index}#localProfilePath={script}")
        page.wait_for_function("document.title.includes('sends.folded')")
        with page.expect_download() as saved:
            page.keyboard.press("Control+s")
        found = json.loads(pathlib.Path(saved.value.path()).read_text())
        browser.close()
    return found


@pytest.mark.slow
def test_speedscope_reads_every_stack(page_of_speedscope, tmp_path):
    record = json.loads((ROOT / "tests/fixtures/raw/profile.json").read_text())["record"]
    lines = lines_of(record)
    read = imported(page_of_speedscope, lines, tmp_path)
    names = [frame["name"] for frame in read["shared"]["frames"]]
    # Events open and close frames at positions. A stack has the samples between two positions.
    stacks, stack, last = collections.Counter(), [], 0
    for event in read["profiles"][0]["events"]:
        if event["at"] > last:
            stacks[";".join(stack)] += event["at"] - last
        last = event["at"]
        if event["type"] == "O":
            stack.append(names[event["frame"]])
        else:
            assert stack.pop() == names[event["frame"]]
    assert stacks == {frames: int(samples) for frames, _, samples in (line.rpartition(" ") for line in lines)}
    assert sum(stacks.values()) == record["profile"]["samples"]
