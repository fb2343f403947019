# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tests that texts for readers do not use the project's own former words, which readers would have to look up."""

import pathlib
import re
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]

# {former word: usual words}.
GONE = {
    r"hears? of|heard of": "learn of, read",
    r"bears? (?:a|the|no|one)\b": "be enough for, show",
    r"with reserve": "caveat",
    r"bystanders?": "unobserved process",
    r"too much else": "disturbed",
    r"unreported": "unflagged",
    r"silent(?:ly)? cop\w+": "unflagged copies",
    r"told_copied|are told (?:by|of)": "identified by, read",
    r"tells? (?:more|why|what they see)": "shows",
    r"whole numbers? column": "int64",
    r"pays half as much": "adds 50 %",
    r"is put out when": "is disconnected",
    r"is of no use to": "does not apply to",
    r"that nobody here wrote": "third-party",
    r"is had\b": "uses",
    r"what strangers": "unauthenticated clients",
    r"as if it were not there": "is ignored",
    r"somebody listens|listens to (?:it|this device)": "a packet socket is open",
    r"only equal spans": "compare only times with the same span",
    r"ranks nothing": "is not ranked",
    r"what (?:it|this|that) is of\b|the same of\b": "the thing named, such as a field",
}
# The files with texts for readers: pages, help, messages. Texts of reports have their own tests.
READ = ("README.md", "CONTRIBUTING.md", "docs", "deploy", "analysis/tables", "bpf", "user", "loadgen",
        "common")


@pytest.fixture(scope="module")
def texts():
    """Returns {file: text} of these files."""
    listed = subprocess.run(["git", "-c", f"safe.directory={ROOT}", "ls-files", "-z", *READ], cwd=ROOT,
                            stdout=subprocess.PIPE, text=True, check=False)
    if listed.returncode:
        pytest.skip("not a git checkout")
    return {name: (ROOT / name).read_text(encoding="utf-8") for name in filter(None, listed.stdout.split("\0"))
            if not name.endswith((".png", ".json"))}


@pytest.mark.parametrize("gone", GONE)
def test_private_words_are_gone(texts, gone):
    found = [f"{name}: {match[0]}" for name, text in texts.items()
             for match in re.finditer(rf"\b(?:{gone})", text, re.I)]
    assert not found, f"say: {GONE[gone]}"
