# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tests that colours differ for the colour-blind and in grey print, on a light and a dark page, and that shapes and
dashes distinguish all names."""

import itertools

import numpy as np
import pytest

from analysis.figures import style

# Linear RGB as seen without one kind of cone (Machado, Oliveira and Fernandes 2009).
BLIND = {
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216],
                   [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413],
                     [-0.011820, 0.042940, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602],
                   [0.004733, 0.691367, 0.303900]],
    "normal": np.eye(3),
}
# The least distances in CIE 1976 L*a*b*: 10 is visible at a glance, 2.3 is just noticeable.
APART, GREY_APART = 20, 8
PAGES = ("light", "dark")
TOGETHER = [("twocopy", "onecopy", "zerocopy"), ("iterative", "threaded", "select")]


def linear(color):
    channels = np.array([int(color[i:i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055)**2.4)


def lab(rgb):
    to_xyz = [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750],
              [0.0193339, 0.1191920, 0.9503041]]
    xyz = to_xyz @ np.clip(rgb, 0, 1) / np.array([0.95047, 1, 1.08883])
    f = np.where(xyz > 216 / 24389, np.cbrt(xyz), (24389 / 27 * xyz + 16) / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def shown(name, page):
    color = style.LOOKS[name].color
    return linear(style.DARK.get(color, color) if page == "dark" else color)


@pytest.mark.parametrize("names", TOGETHER)
@pytest.mark.parametrize("sight", BLIND)
@pytest.mark.parametrize("page", PAGES)
def test_colours_differ(names, sight, page):
    for a, b in itertools.combinations(names, 2):
        seen = [lab(BLIND[sight] @ shown(name, page)) for name in (a, b)]
        assert np.linalg.norm(seen[0] - seen[1]) > APART, (a, b, sight)


@pytest.mark.parametrize("names", TOGETHER)
@pytest.mark.parametrize("page", PAGES)
def test_lightness_differs(names, page):
    for a, b in itertools.combinations(names, 2):
        lightness = [lab(shown(name, page))[0] for name in (a, b)]
        assert abs(lightness[0] - lightness[1]) > GREY_APART, (a, b)


@pytest.mark.parametrize("part", ["color", "shape", "dash"])
def test_no_two_variants_share_a_colour_shape_or_dash(part):
    variants = ["twocopy", "onecopy", "zerocopy", "write", "writev", "sendfile", "splice", "uring",
                "uring_zc", "null"]
    values = [getattr(style.LOOKS[name], part) for name in variants]
    assert len(set(values)) == len(values)


@pytest.mark.parametrize("page", PAGES)
def test_colours_are_seen_on_their_page(page):
    paper = style.PAPER if page == "light" else style.DARK[style.PAPER]
    for name in style.LOOKS:
        assert abs(lab(linear(paper))[0] - lab(shown(name, page))[0]) > 18, name


def test_unknown_names_differ():
    drawn = style.looks_of(["twocopy", "new", "newer"])
    assert len({look.color for look in drawn}) == 3


def test_sizes_are_written_as_people_do():
    assert [style.size_text(size) for size in (64, 1024, 1536, 65536, 99999, 1234567, 1 << 20, 1 << 30)] == \
        ["64", "1K", "1.5K", "64K", "99999", "1234567", "1M", "1G"]
