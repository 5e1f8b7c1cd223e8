"""The report of a batch as one page that needs nothing else: no script of others, no network."""

import shlex
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, urlencode

VIEW: Final = "view"  # where the page asks for a second, if it is served
HEAD: Final = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><link rel="icon" href="data:,">
<style>
:root {{ color-scheme: light dark; --dim: light-dark(#5c6067, #a6a9af); font: 14px/1.45 system-ui, sans-serif; }}
body {{ background: Canvas; color: CanvasText; margin: 2rem auto; max-width: 1180px; padding: 0 1rem; }}
h1 {{ font-size: 1.35rem; margin: 0; overflow-wrap: anywhere; }}
p {{ margin: .15rem 0; color: var(--dim); }}
table {{ border-collapse: collapse; width: 100%; margin-top: 1.2rem; }}
th, td {{ padding: .4rem .5rem; text-align: left; vertical-align: middle; border-bottom: 1px solid #8883; }}
th {{ cursor: pointer; font-size: .85em; color: var(--dim); vertical-align: bottom; position: sticky; top: 0;
  background: Canvas; }}
th:hover {{ color: CanvasText; }}
td.n, th.n {{ text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }}
td:first-child {{ border-left: 4px solid #0000; min-width: 12rem; }}
tr.failed td:first-child {{ border-left-color: #c33; }}
tr.poor td:first-child {{ border-left-color: #c80; }}
svg {{ display: block; }}
.take {{ font-weight: 600; overflow-wrap: anywhere; }} .take a {{ color: inherit; }}
.small {{ font-size: .85em; color: var(--dim); }} .why {{ color: light-dark(#b3261e, #ff8a80); }}
.warn {{ font-size: .85em; color: light-dark(#8a5200, #e0a030); }}
td:last-child {{ width: 14rem; }}
.share {{ display: block; height: 3px; margin-top: 3px; background: linear-gradient(90deg, #2a7 var(--at), #c336 var(--at)); }}
.see {{ display: inline-block; margin: 2px 0; padding: 0 .5em; border: 1px solid #8886; border-radius: 4px; font-size: .85em;
  color: inherit; text-decoration: none; white-space: nowrap; }}
.see:hover {{ background: #8882; }}
pre {{ margin: .3rem 0; white-space: pre-wrap; }}
details[open] pre {{ min-width: 34rem; }}
#said {{ position: fixed; left: 0; right: 0; bottom: 0; padding: .6rem 1.5rem; background: #222; color: #eee; display: none; }}
</style></head><body><main>
"""
TAIL: Final = """<div id="said"></div></main><script>
const said = document.getElementById("said");
const show = text => { said.textContent = text; said.style.display = "block"; };
document.querySelectorAll(".see").forEach(a => a.onclick = async event => {
  if (location.protocol.startsWith("http")) return;
  event.preventDefault();
  const command = a.dataset.command;
  try { await navigator.clipboard.writeText(command); show("copied: " + command); } catch (e) { show(command); }
});
document.querySelectorAll("th").forEach((th, n) => th.onclick = () => {
  const body = document.querySelector("tbody"), up = th.dataset.up !== "1"; th.dataset.up = up ? "1" : "";
  const value = row => { const c = row.cells[n]; if (!c) return -1;
    return c.dataset.v === undefined ? c.innerText : parseFloat(c.dataset.v); };
  [...body.rows].sort((a, b) => { const x = value(a), y = value(b); return (x > y ? 1 : x < y ? -1 : 0) * (up ? 1 : -1); })
    .forEach(row => body.append(row));
});
</script></body></html>
"""
COLUMNS: Final = (
    ("take", ""),
    ("poses", ""),
    ("frames", "n"),
    ("length<br>s", "n"),
    ("tracked<br>%", "n"),
    ("reprojection<br>px", "n"),
    ("markers<br>mm", "n"),
    ("labels<br>in doubt", "n"),
    ("worst seconds", ""),
)
MINUTES_S: Final = 300.0  # from which on the length of all motion is told in minutes
POOR: Final = 0.9  # tracked share below which a take is marked
HINT: Final = "Served by <code>{command}</code>, a click on a second opens the viewer there; else it copies the command."


def format_page(out: Path, when: str, counts: Mapping[str, int], rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the page.

    Args:
        out: the folder of the batch.
        when: time of the report.
        counts: number of tasks by how they ended.
        rows: `TaskRow`s as tables.
    """
    told = ", ".join(f"{count} {state}" for state, count in counts.items() if count)
    head = "".join(f'<th class="{kind}">{name}</th>' for name, kind in COLUMNS)
    body = "\n".join(_format_row(out, row) for row in rows)
    hint = HINT.format(command=escape(shlex.join(["duocap", "view", str(out)])))
    return (
        HEAD.format(title=escape(f"duocap batch {out.name}"))
        + f'<h1>{escape(out.name)}</h1><p>{told}{_format_total(rows)}; {when}</p><p class="small">{hint}</p>'
        + f"<table><thead><tr>{head}</tr></thead><tbody>\n{body}\n</tbody></table>"
        + TAIL
    )


def _format_total(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return how much motion there is, and the share of its frames that is tracked."""
    found = [row["figures"] for row in rows if row["figures"]]
    frames = sum(each["frames"] for each in found)
    if not frames:
        return ""
    seconds = sum(each["seconds"] for each in found)
    tracked = sum(each["frames"] * each["tracked"] for each in found) / frames
    length = f"{seconds:.0f} s" if seconds < MINUTES_S else f"{seconds / 60:.0f} min"
    return f"; {length} of motion, {frames:,} frames, {tracked:.1%} of them tracked"


def _format_row(out: Path, row: Mapping[str, Any]) -> str:
    """Return one row."""
    if row["state"] != "done":
        why = f"{escape(row['state'])}{': ' * bool(row['message'])}{escape(row['message'])}"
        return f'<tr class="failed"><td>{_format_task_name(row)}</td><td class="why" colspan="{len(COLUMNS) - 1}">{why}</td></tr>'
    figures = row["figures"]
    tracked = figures.get("tracked")
    mark = "poor" if tracked is not None and tracked < POOR else ""
    cells = [
        f"<td>{_format_task_name(row)}</td>",
        f"<td>{row['picture']}</td>",
        _format_number(figures.get("frames"), "{:.0f}"),
        _format_number(figures.get("seconds"), "{:.1f}"),
        _format_share(tracked),
        _format_number(figures.get("reprojection_px"), "{:.2f}"),
        _format_number(figures.get("marker_residual_mm"), "{:.1f}"),
        _format_number(figures.get("swaps_suspected"), "{:.0f}"),
        f"<td>{_format_worst_seconds(out, row)}</td>",
    ]
    return f'<tr class="{mark}">{"".join(cells)}</tr>'


def _format_task_name(row: Mapping[str, Any]) -> str:
    """Return what a task is and what it said."""
    name = escape(row["task"]).replace("/", "/<wbr>")
    if row["state"] == "done":
        name = f'<a href="{quote(row["task"])}/">{name}</a>'
    parts = [f'<div class="take">{name}</div>']
    parts += [f'<div class="warn">{escape(words)}</div>' for words in row["warnings"][:3]]
    if row["lines"]:
        lines = escape("\n".join(row["lines"]))
        parts.append(f'<details class="small"><summary>{escape(row["kind"])}</summary><pre>{lines}</pre></details>')
    else:
        parts.append(f'<div class="small">{escape(row["kind"])}</div>')
    return "".join(parts)


def _format_number(value: float | None, form: str) -> str:
    """Return a cell with a number, or with a dash."""
    return '<td class="n" data-v="-1">-</td>' if value is None else f'<td class="n" data-v="{value}">{form.format(value)}</td>'


def _format_share(value: float | None) -> str:
    """Return a cell with a share in percent and as a bar."""
    if value is None:
        return _format_number(None, "")
    return f'<td class="n" data-v="{value}">{100 * value:.1f}<span class="share" style="--at:{value:.1%}"></span></td>'


def _format_worst_seconds(out: Path, row: Mapping[str, Any]) -> str:
    """Return a link to each of the worst seconds."""
    if not row["recording"]:
        return ""
    return "<br>".join(_format_link(out, row, one["at_s"], _format_reason(one)) for one in row["worst"]) or _format_link(
        out, row, None, "view"
    )


def _format_reason(second: Mapping[str, Any]) -> str:
    """Return what is bad about a second."""
    mm = second["marker_residual_mm"]
    shown = "" if mm is None else f", markers {mm:.0f} mm"
    return f"{second['at_s']:.0f} s: {second['tracked']:.0%} tracked{shown}"


def _format_link(out: Path, row: Mapping[str, Any], at_s: float | None, text: str) -> str:
    """Return a link to a second in the viewer, with the command that shows it."""
    words = ["duocap", "view", str(out / row["recording"]), *([] if at_s is None else ["--at", f"{at_s:g}"])]
    query = urlencode({"task": row["task"]} | ({} if at_s is None else {"at": f"{at_s:g}"}))
    command = escape(shlex.join(words))
    link = f'href="{VIEW}?{escape(query)}" target="duocap"'
    return f'<a class="see" {link} data-command="{command}" title="{command}">{escape(text)}</a>'
