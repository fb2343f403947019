# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Styles figures: each name has one colour, one shape and one dash in every figure.

No name depends on colour alone. The colours also differ in lightness, for grey print and colour-blind
readers; tests/analysis/test_palette.py measures the differences.

Figures are drawn for white paper. A dark page replaces the colours of the drawn SVG (dark_css).
"""

import itertools
import math
import textwrap
from dataclasses import dataclass

import altair as alt

from analysis.tables.variants import SERVER_MODELS, VARIANTS

INK = "#222222"
ASIDE = "#444444"
GRID = "#dddddd"
DOMAIN = "#888888"
FRAME = "#bbbbbb"
PAPER = "#ffffff"
FONT = "Liberation Sans, Arial, Helvetica, sans-serif"


@dataclass(frozen=True)
class Look:
    """The colour (#rrggbb) of a name, the shape of its points, and the dash of its line in pixels."""
    color: str
    shape: str
    dash: tuple[int, ...]


_SOLID = (1, 0)
# Vega's wedge is too thin to be seen.
_PENTAGON = "M0,-1L0.95,-0.31L0.59,0.81L-0.59,0.81L-0.95,-0.31Z"
PALETTE = {
    "blue": Look("#0072b2", "circle", _SOLID),
    "orange": Look("#e69f00", "square", (7, 3)),
    "wine": Look("#661100", "triangle-up", (2, 2)),
    "green": Look("#44aa99", "diamond", (8, 3, 2, 3)),
    "pink": Look("#cc79a7", "triangle-down", (4, 2)),
    "black": Look("#000000", "cross", (1, 3)),
    "sky": Look("#88ccee", "triangle-right", (10, 2)),
    "olive": Look("#999933", "triangle-left", (5, 2, 1, 2)),
    "violet": Look("#332288", _PENTAGON, (3, 3)),
    "grey": Look("#777777", "arrow", (2, 4)),
}
BLUE, ORANGE, WINE, GREEN, PINK, BLACK, SKY, OLIVE, VIOLET, GREY = PALETTE.values()

LOOKS = {row.name: PALETTE[row.look] for row in (*VARIANTS, *SERVER_MODELS)} | {
    "reading completions": ORANGE,  # a part of the bars of kernel_time.py
}
# Light and dark colours alternate, so that neighbours in stacked bars differ.
_OTHERS = (SKY, VIOLET, PINK, BLACK, OLIVE, GREY)

# Replacements of colours on a dark page; all other colours are visible on both pages.
DARK = {PAPER: "#1b1b1b", INK: "#e4e4e4", ASIDE: "#bdbdbd", GRID: "#3c3c3c", FRAME: "#5c5c5c",
        BLUE.color: "#2a86c8", WINE.color: "#ffd2c8", BLACK.color: "#f5f5f5",
        VIOLET.color: "#a79bf5"}


def dark_css() -> str:
    """Returns rules that make drawn SVG dark. A live figure's background is set by a style, not by an attribute."""
    rules = [f"svg.marks {{ background-color: {DARK[PAPER]} !important; }}"]
    rules += [f'svg.marks [{paint}="{color}"] {{ {paint}: {dark}; }}'
              for color, dark in DARK.items() for paint in ("fill", "stroke")]
    return "@media screen and (prefers-color-scheme: dark) { " + " ".join(rules) + " }"


def looks_of(names: list[str]) -> list[Look]:
    """Returns the Look of each name. Names that LOOKS lacks get one of _OTHERS."""
    spare = itertools.cycle(_OTHERS)
    return [LOOKS[name] if name in LOOKS else next(spare) for name in names]


def encodings(field: str, title: str, labels: dict[str, str]) -> dict[str, object]:
    """Returns the encodings of colour, shape and dash by a field whose values are labels[name], with one legend."""
    drawn = looks_of(list(labels))
    legend = alt.Legend(title=title, symbolSize=90, symbolStrokeWidth=0, symbolOpacity=1)

    def channel(kind, values):
        return kind(f"{field}:N", scale=alt.Scale(domain=list(labels.values()), range=values), legend=legend,
                    title=title)

    return {
        "color": channel(alt.Color, [look.color for look in drawn]),
        "shape": channel(alt.Shape, [look.shape for look in drawn]),
        # Symbols in the legend have no outline that could be dashed; their shapes differ.
        "strokeDash": channel(alt.StrokeDash, [list(look.dash) for look in drawn]),
    }


_SIZE_LABEL = ("datum.value >= 1073741824 ? format(datum.value / 1073741824, '~g') + 'G' : "
               "datum.value >= 1048576 ? format(datum.value / 1048576, '~g') + 'M' : "
               "datum.value >= 1024 ? format(datum.value / 1024, '~g') + 'K' : "
               "format(datum.value, '~g')")


def size_text(size: float) -> str:
    """Returns a size such as 64, 1.5K or 1M; in bytes if three digits of a unit would not be exact."""
    for unit, name in ((1 << 30, "G"), (1 << 20, "M"), (1 << 10, "K")):
        text = f"{size / unit:.3g}"
        if size >= unit and float(text) * unit == size:
            return f"{text}{name}"
    return f"{size:g}" if size < 1e5 else f"{size:.0f}"


MOST_TICKS = 8


def _ticks(values: list[int]) -> list[int]:
    """Returns the values, or if there are more than MOST_TICKS, the powers of two in their range."""
    ordered = sorted(set(values))
    if len(ordered) <= MOST_TICKS:
        return ordered
    return [1 << power for power in range(64) if ordered[0] <= 1 << power <= ordered[-1]]


def _powers_axis(values: list[int], field: str, title: str, **axis) -> alt.X:
    """Returns a logarithmic axis with ticks at the measured values."""
    return alt.X(f"{field}:Q", title=title,
                 scale=alt.Scale(type="log", base=2, domain=[min(values) / 1.3, max(values) * 1.3],
                                 nice=False),
                 axis=alt.Axis(values=_ticks(values), grid=False, labelOverlap="greedy", **axis))


def size_axis(sizes: list[int], field: str = "x") -> alt.X:
    """Returns an axis of sizes, with labels such as 4K."""
    return _powers_axis(sizes, field, "message size (bytes)", labelExpr=_SIZE_LABEL)


def count_axis(counts: list[int], title: str) -> alt.X:
    """Returns an axis of threads or connections."""
    return _powers_axis(counts, "x", title, format="~g")


def linear_axis(counts: list[int], title: str) -> alt.X:
    return alt.X("x:Q", title=title, axis=alt.Axis(grid=False, format="d", tickMinStep=1),
                 scale=alt.Scale(domain=[min(counts) - 0.5, max(counts) + 0.5], nice=False))


LOG_ABOVE = 20


def _log_ticks(low: float, high: float) -> list[float]:
    """Returns 1, 2, 5, 10 and so on between the ends; only powers of ten if the ends are far apart."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    steps = (1, 2, 5) if high / low < 1e3 else (1,)
    return [float(f"{step}e{power}") for power in powers for step in steps
            if low <= float(f"{step}e{power}") <= high]


def value_axis(title: str, low: float, high: float, field: str = "median") -> alt.Y:
    """Returns the axis of a measured value, logarithmic (as the title then shows) if high / low is above LOG_ABOVE."""
    if low > 0 and high / low > LOG_ABOVE:
        low, high = low / 1.2, high * 1.2
        return alt.Y(f"{field}:Q", title=f"{title}, log scale",
                     scale=alt.Scale(type="log", domain=[low, high], nice=False),
                     axis=alt.Axis(format=",.6~g", values=_log_ticks(low, high)))
    return alt.Y(f"{field}:Q", title=title, scale=alt.Scale(domain=[0, high * 1.05], nice=True),
                 axis=alt.Axis(format=",.6~g"))


# The reader may not have these fonts. Text in wider ones must not be cut off at the sides.
_PADDING = {"left": 12, "top": 4, "right": 16, "bottom": 4}


def themed(chart: alt.TopLevelMixin, title: str, subtitle: list[str], description: str, width: int):
    """Returns the chart with its style, alt text, title and subtitle, which are wrapped to the width. Changes the chart
    in place: altair's methods copy the whole chart, which takes longer than drawing a chart of charts.
    """
    room = max(30, int(width / 5.9))
    lines = [line for text in subtitle for line in textwrap.wrap(text, room)]
    chart.title = alt.TitleParams(textwrap.wrap(title, int(width / 8.5)), subtitle=lines, anchor="start")
    chart.description = description
    chart.config = alt.Config(
        font=FONT, background=PAPER, padding=_PADDING,
        title=alt.TitleConfig(fontSize=15, subtitleFontSize=11, subtitleColor=ASIDE, color=INK, offset=12,
                              subtitlePadding=4),
        axis=alt.AxisConfig(labelColor=INK, titleColor=INK, gridColor=GRID, domainColor=DOMAIN,
                            titleFontWeight="normal", labelFontSize=11, titleFontSize=12, titlePadding=10),
        legend=alt.LegendConfig(labelFontSize=11, titleFontSize=11, labelColor=INK, titleColor=INK, orient="bottom",
                                labelLimit=320, titleLimit=400, titleFontWeight="normal",
                                columns=max(1, width // 220)),
        header=alt.HeaderConfig(labelFontSize=12, labelColor=INK, titleColor=INK, labelFontWeight="bold"),
        view=alt.ViewConfig(stroke=FRAME))
    return chart
