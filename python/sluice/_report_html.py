# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
"""A report in a notebook: what became of the rows and what was found. No script, and no colours but the notebook's own, so it is light or dark as that is."""

from __future__ import annotations

from html import escape
from typing import Any, Iterable, Mapping

MOST_ROWS = 20  # of a table
WIDTH, HEIGHT = 320, 70  # of a picture


def _text(value: Any) -> str:
    return escape(str(value))


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 or float(value).is_integer() else f"{value:,.4g}"


def _value(figure: Mapping[str, Any]) -> str:
    value = figure.get("value")
    if value is None:
        return ""
    if figure["kind"] in ("share", "shares") or (figure["kind"] == "along" and figure["unit"] == "%"):
        return f"{100 * value:.2f} %"
    return _number(value) + ("x" if figure["unit"] == "x" else "")


def _svg(shapes: Iterable[str], title: str) -> str:
    return f'<svg width="{WIDTH}" height="{HEIGHT}" role="img" aria-label="{_text(title)}" fill="currentColor" stroke="currentColor">{"".join(shapes)}</svg>'


def _bars(figure: Mapping[str, Any]) -> str:
    classes = figure["classes"]
    if not classes:
        return ""
    first, last = classes[0][0], classes[-1][0]
    each, most = WIDTH / (last - first + 1), max(number for _, number in classes)
    shapes = (
        f'<rect x="{(index - first) * each:.1f}" y="{HEIGHT - HEIGHT * number / most:.1f}" width="{each * 0.9:.1f}" height="{HEIGHT * number / most:.1f}" stroke="none"/>'
        for index, number in classes
        if number > 0
    )
    ends = f"{first * figure['width']:g} to {(last + 1) * figure['width']:g}"
    return _svg(shapes, figure["title"]) + f"<br><small>{_text(ends)}, median {_text(figure['median'])}</small>"


def _line(figure: Mapping[str, Any]) -> str:
    heights = [part / whole if whole > 0 else None for _, _, _, part, whole in figure["windows"]]
    most = max((height for height in heights if height is not None), default=0) or 1
    each = WIDTH / max(len(heights), 1)
    shapes = (
        f'<rect x="{i * each:.1f}" y="{HEIGHT - HEIGHT * height / most:.1f}" width="{max(each, 0.5):.1f}" height="{HEIGHT * height / most:.1f}" stroke="none"/>'
        for i, height in enumerate(heights)
        if height is not None
    )
    return _svg(shapes, figure["title"])


def _table(rows: Iterable[Iterable[str]]) -> str:
    return "<table>" + "".join("<tr>" + "".join(f'<td style="text-align:left">{cell}</td>' for cell in row) + "</tr>" for row in rows) + "</table>"


def _per_length(figure: Mapping[str, Any], row: Mapping[str, Any]) -> str:
    if not row["length"]:
        return ""
    per_length = row["amount"] / row["length"]
    if figure["kind"] == "shares":
        return f"of {_number(row['length'])}, {100 * per_length:.2f} %"
    return f"on {_number(row['length'])}, {_number(per_length)}{_text(figure['unit'])}"


def _detail(figure: Mapping[str, Any]) -> str:
    if figure["kind"] == "histogram":
        return _bars(figure)
    if figure["kind"] in ("along", "depth"):
        return _line(figure)
    rows = figure.get("rows") or []
    if not rows:
        return ""
    told = [[_text(row["name"]), _number(row["amount"]), _per_length(figure, row)] for row in rows[:MOST_ROWS]]
    if len(rows) > MOST_ROWS:
        told.append([f"and {len(rows) - MOST_ROWS:,} more", "", ""])
    return _table(told)


def report_html(data: Mapping[str, Any]) -> str:
    """What `Report._repr_html_` shows."""
    parts = [f"<b>{_text(data['pipeline']['name'])}</b> {_text(data['state'])} in {data['time']['elapsed_seconds']:.2f} s"]
    if "error" in data:
        error = data["error"]
        parts.append(f"<p>{_text(error['message'])}{' (' + _text(error['remedy']) + ')' if error['remedy'] else ''}</p>")
    parts += [f"<p>{_text(hint)}</p>" for hint in data.get("hints", [])]
    rows = [
        [_text(f"{path['source']} → {path['end']}"), f"{path['read']:,} {_text(path['called'])}s", f"{path['written']:,} written", f"{path['failed']:,} failed", f"{path['filtered']:,} filtered"]
        for path in data["account"]
    ]
    if rows:
        parts.append(_table(rows))
    for stage in data["stages"]:
        figures = [figure for figure in stage.get("results", []) if figure["kind"] != "squiggles"]
        if figures:
            parts.append(_table([f'<span title="{_text(figure["meaning"])}">{_text(figure["title"])}</span>', f"<b>{_value(figure)}</b>", _detail(figure)] for figure in figures))
    if data["outputs"]:
        parts.append("<p>" + "<br>".join(_text(name) for name in data["outputs"]) + "</p>")
    return "<div>" + "".join(parts) + "</div>"
