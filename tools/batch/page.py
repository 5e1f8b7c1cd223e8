"""The report of a batch as one page that needs nothing else: no script of others, no network."""

import shlex
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

HEAD: Final = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>
:root {{ color-scheme: light dark; font: 14px/1.4 system-ui, sans-serif; }}
body {{ margin: 1.5rem; }}
h1 {{ font-size: 1.2rem; margin: 0 0 .2rem; overflow-wrap: anywhere; }}
p {{ margin: .2rem 0 1rem; color: GrayText; }}
table {{ border-collapse: collapse; width: 100%; }}
th, td {{ padding: .35rem .6rem; text-align: left; vertical-align: middle; border-bottom: 1px solid #8884; }}
th {{ cursor: pointer; white-space: nowrap; position: sticky; top: 0; background: Canvas; }}
td.n, th.n {{ text-align: right; font-variant-numeric: tabular-nums; }}
tr.failed td:first-child {{ border-left: 4px solid #c33; }}
tr.poor td:first-child {{ border-left: 4px solid #c80; }}
.why {{ color: #c33; }}
.warn {{ color: #b70; font-size: .85em; }}
.take {{ font-weight: 600; overflow-wrap: anywhere; }}
button {{ font: inherit; font-size: .85em; margin: 1px; cursor: pointer; }}
details {{ font-size: .85em; }} pre {{ margin: .3rem 0; white-space: pre-wrap; }}
#said {{ position: fixed; left: 0; right: 0; bottom: 0; padding: .6rem 1.5rem; background: #222; color: #eee; display: none; }}
</style></head><body>
"""
TAIL: Final = """<div id="said"></div><script>
const said = document.getElementById("said");
document.querySelectorAll("button[data-command]").forEach(b => b.onclick = async () => {
  let copied = "";
  try { await navigator.clipboard.writeText(b.dataset.command); copied = "copied: "; } catch (e) {}
  said.textContent = copied + b.dataset.command; said.style.display = "block";
});
document.querySelectorAll("th").forEach((th, n) => th.onclick = () => {
  const body = document.querySelector("tbody"), up = th.dataset.up !== "1"; th.dataset.up = up ? "1" : "";
  const value = row => { const c = row.cells[n], v = c.dataset.v; return v === undefined ? c.innerText : parseFloat(v); };
  [...body.rows].sort((a, b) => { const x = value(a), y = value(b); return (x > y ? 1 : x < y ? -1 : 0) * (up ? 1 : -1); })
    .forEach(row => body.append(row));
});
</script></body></html>
"""
COLUMNS: Final = (
    ("take", ""),
    ("", ""),
    ("frames", "n"),
    ("seconds", "n"),
    ("tracked", "n"),
    ("reprojection px", "n"),
    ("markers mm", "n"),
    ("labels in doubt", "n"),
    ("worst seconds, to look at", ""),
)
POOR: Final = 0.9  # tracked share below which a take is marked


def page(out: Path, when: str, counts: Mapping[str, int], rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the page. out: the folder of the batch; rows: `TaskRow`s as tables."""
    told = ", ".join(f"{count} {state}" for state, count in counts.items() if count)
    head = "".join(f'<th class="{kind}">{name}</th>' for name, kind in COLUMNS)
    body = "\n".join(_row(out, row) for row in rows)
    return (
        HEAD.format(title=escape(f"duocap batch {out.name}"))
        + f"<h1>{escape(str(out))}</h1><p>{told}; {when}. A button copies the command that shows that second.</p>"
        + f"<table><thead><tr>{head}</tr></thead><tbody>\n{body}\n</tbody></table>"
        + TAIL
    )


def _row(out: Path, row: Mapping[str, Any]) -> str:
    """Return one row."""
    figures = row["figures"]
    tracked = figures.get("tracked")
    mark = "failed" if row["state"] == "failed" else "poor" if tracked is not None and tracked < POOR else ""
    cells = [
        f"<td>{_name(row)}</td>",
        f"<td>{row['picture']}</td>",
        _number(figures.get("frames"), "{:.0f}"),
        _number(figures.get("seconds"), "{:.1f}"),
        _number(tracked, "{:.1%}"),
        _number(figures.get("reprojection_px"), "{:.2f}"),
        _number(figures.get("marker_residual_mm"), "{:.1f}"),
        _number(figures.get("swaps_suspected"), "{:.0f}"),
        f"<td>{_worst(out, row)}</td>",
    ]
    return f'<tr class="{mark}">{"".join(cells)}</tr>'


def _name(row: Mapping[str, Any]) -> str:
    """Return what a task is and what it said."""
    link = quote(str(row["task"])) + "/"
    name = escape(row["task"]) if row["state"] != "done" else f'<a href="{link}">{escape(row["task"])}</a>'
    parts = [f'<div class="take">{name}</div>{escape(row["kind"])}']
    if row["state"] != "done":
        parts.append(f'<div class="why">{escape(row["state"])}{": " * bool(row["message"])}{escape(row["message"])}</div>')
    parts += [f'<div class="warn">{escape(words)}</div>' for words in row["warnings"][:3]]
    if row["lines"]:
        lines = escape("\n".join(row["lines"]))
        parts.append(f"<details><summary>what it printed</summary><pre>{lines}</pre></details>")
    return "".join(parts)


def _number(value: float | None, form: str) -> str:
    """Return a cell with a number, or with a dash."""
    return '<td class="n" data-v="-1">-</td>' if value is None else f'<td class="n" data-v="{value}">{form.format(value)}</td>'


def _worst(out: Path, row: Mapping[str, Any]) -> str:
    """Return a button for each of the worst seconds: the command that shows it."""
    if not row["recording"]:
        return ""
    file = out / row["recording"]
    buttons = [_button(file, one["at_s"], _why(one)) for one in row["worst"]]
    return "<br>".join(buttons) if buttons else _button(file, None, "view")


def _why(second: Mapping[str, Any]) -> str:
    """Return what is bad about a second."""
    mm = second["marker_residual_mm"]
    shown = "" if mm is None else f", markers {mm:.0f} mm"
    return f"{second['at_s']:.0f} s: {second['tracked']:.0%} tracked{shown}"


def _button(file: Path, at_s: float | None, text: str) -> str:
    """Return a button that copies a command of the viewer."""
    words = ["duocap", "view", str(file), *([] if at_s is None else ["--at", f"{at_s:g}"])]
    return f'<button data-command="{escape(shlex.join(words))}" title="{escape(shlex.join(words))}">{escape(text)}</button>'
