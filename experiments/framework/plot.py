# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
"""Plots as SVG, written by hand: bars, stacked bars and lines, in light and dark."""

import math
from xml.sax.saxutils import escape

# Plain classes: viewers of SVG that are no browsers know no variables.
LIGHT = {"ink": "#1d232b", "quiet": "#59636f", "rule": "#d7dce2", "paper": "#ffffff", "series": ["#2166ac", "#c2571a", "#3b8a4e", "#8a5aa8", "#7a7f87", "#b0902a"]}
DARK = {"ink": "#e7eaee", "quiet": "#a3acb7", "rule": "#3a424c", "paper": "#14181d", "series": ["#6aa9e6", "#ef9a63", "#78c48a", "#c39be0", "#a9afb8", "#e0c267"]}


def _colors(of):
    series = " ".join(".f%d { fill: %s } .k%d { stroke: %s }" % (i, color, i, color) for i, color in enumerate(of["series"]))
    return "text { fill: %s } .small { fill: %s } .rule { stroke: %s } .paper { fill: %s }\n%s" % (of["ink"], of["quiet"], of["rule"], of["paper"], series)


STYLE = """<style>
text { font: 13px system-ui, sans-serif } .title { font-size: 15px; font-weight: 600 } .small { font-size: 12px }
%s
@media (prefers-color-scheme: dark) {
%s
}
</style>""" % (_colors(LIGHT), _colors(DARK))
WIDTH = 720


def figure(number):
    """Three digits that count, without an exponent."""
    if number is None:
        return "-"
    if isinstance(number, int):
        return str(number)
    if number == 0:
        return "0"
    digits = 2
    while abs(number) >= 10 ** (3 - digits) and digits > 0:
        digits -= 1
    while abs(number) < 10 ** (1 - digits) and digits < 6:
        digits += 1
    return "%.*f" % (digits, number)


def round_scale(least, most, parts=4):
    """Ends and step of a scale that holds both numbers, of round numbers, with about so many parts."""
    power = 10 ** math.floor(math.log10((most - least) / parts))
    step = next(power * factor for factor in (1, 2, 2.5, 5, 10) if power * factor * parts >= (most - least) * 0.999)
    return math.floor(least / step + 1e-9) * step, math.ceil(most / step - 1e-9) * step, step


def _frame(title, height, parts):
    return "\n".join(
        ['<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img">' % (WIDTH, height, WIDTH, height),
         "<title>%s</title>" % escape(title), STYLE, '<rect width="%d" height="%d" class="paper"/>' % (WIDTH, height),
         '<text class="title" x="16" y="26">%s</text>' % escape(title)] + parts + ["</svg>", ""])


def bars(title, unit, values):
    """values: (name, number) from top to bottom."""
    left, right, top, step = 250, 90, 48, 26
    most = max([number for _, number in values] or [1]) or 1
    parts = []
    for i, (name, number) in enumerate(values):
        y = top + i * step
        length = (WIDTH - left - right) * number / most
        parts.append('<text x="%d" y="%d" text-anchor="end">%s</text>' % (left - 8, y + 14, escape(name)))
        parts.append('<rect x="%d" y="%d" width="%.1f" height="18" rx="2" class="f%d"/>' % (left, y, max(length, 1), 0 if name.startswith("sluice") else 4))
        parts.append('<text x="%.1f" y="%d">%s</text>' % (left + length + 6, y + 14, figure(number)))
    height = top + len(values) * step + 28
    parts.append('<text class="small" x="%d" y="%d">%s</text>' % (left, height - 10, escape(unit)))
    return _frame(title, height, parts)


def stacked(title, rows, series):
    """rows: (name, shares of the whole by series); series: names."""
    left, right, top, step = 250, 30, 72, 26
    parts = []
    x = left
    for i, name in enumerate(series):
        parts.append('<rect x="%d" y="42" width="12" height="12" class="f%d"/><text x="%d" y="53">%s</text>' % (x, i % 6, x + 17, escape(name)))
        x += 34 + 8 * len(name)
    for i, (name, shares) in enumerate(rows):
        y = top + i * step
        parts.append('<text x="%d" y="%d" text-anchor="end">%s</text>' % (left - 8, y + 14, escape(name)))
        x = left
        for s, share in enumerate(shares):
            length = (WIDTH - left - right) * share
            parts.append('<rect x="%.1f" y="%d" width="%.1f" height="18" class="f%d"/>' % (x, y, length, s % 6))
            x += length
    return _frame(title, top + len(rows) * step + 16, parts)


def lines(title, x_name, y_name, series, least=None, most=None):
    """series: (name, [(x, y)]); x is evenly spaced by its order, as lengths are that double."""
    left, right, top, bottom, height = 70, max([180] + [24 + 7 * len(name) for name, _ in series]), 48, 50, 360
    places = sorted({x for _, points in series for x, _ in points})
    numbers = [y for _, points in series for _, y in points] or [0, 1]
    least = min(numbers) if least is None else least
    most = max(numbers) if most is None else most
    least, most, step = round_scale(least, most if most > least else least + 1)
    at_x = lambda x: left + (WIDTH - left - right) * (places.index(x) / max(len(places) - 1, 1))
    at_y = lambda y: top + (height - top - bottom) * (most - y) / (most - least)
    parts = []
    for i in range(round((most - least) / step) + 1):
        value = least + i * step
        parts.append('<line x1="%d" x2="%d" y1="%.1f" y2="%.1f" class="rule"/>' % (left, WIDTH - right, at_y(value), at_y(value)))
        parts.append('<text class="small" x="%d" y="%.1f" text-anchor="end">%s</text>' % (left - 8, at_y(value) + 4, figure(float(value))))
    for x in places:
        parts.append('<text class="small" x="%.1f" y="%d" text-anchor="middle">%s</text>' % (at_x(x), height - bottom + 18, figure(x)))
    for i, (name, points) in enumerate(series):
        points = sorted(points)
        parts.append('<polyline fill="none" class="k%d" stroke-width="2" points="%s"/>' % (i % 6, " ".join("%.1f,%.1f" % (at_x(x), at_y(y)) for x, y in points)))
        parts += ['<circle cx="%.1f" cy="%.1f" r="3" class="f%d"/>' % (at_x(x), at_y(y), i % 6) for x, y in points]
        parts.append('<text x="%d" y="%d" class="f%d">%s</text>' % (WIDTH - right + 14, top + 12 + 20 * i, i % 6, escape(name)))
    parts.append('<text class="small" x="%d" y="%d">%s; vertical: %s</text>' % (left, height - 12, escape(x_name), escape(y_name)))
    return _frame(title, height, parts)
