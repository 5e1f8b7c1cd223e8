"""Drawings of how something is done, as SVG in the colours of the page, and the page's style."""

from collections.abc import Sequence
from html import escape

STYLE = """<style>
.start{font-size:0.92em;line-height:1.45;padding:0.2em 0.8em;overflow-wrap:anywhere}
.start h3{margin:0.1em 0 0.3em;font-size:1.15em}
.start p{margin:0 0 0.4em}
.start .dim{opacity:0.78;font-size:0.92em}
.start .box{border-left:4px solid;padding:0.3em 0.7em;background:rgba(128,128,128,0.14);margin:0.2em 0}
.start svg{display:block;width:100%;height:auto}
.start svg text{fill:currentColor;font-family:inherit}
.start ol{margin:0.4em 0;padding-left:1.4em}
</style>"""
LINE = 'fill="none" stroke="currentColor" stroke-width="3" stroke-linecap="round"'
ACCENT = "#2f8fd0"
BOX_W, BOX_H, ARROW_W = 200, 110, 70
LETTERS = 24  # of a line in a box


def draw_chain(boxes: Sequence[tuple[str, str]], steps: Sequence[str]) -> str:
    """Return boxes joined by arrows, each a name with a line below it, and numbered steps beneath.

    Args:
        boxes: from where it comes to where it goes.
        steps: what to do there.
    """
    width = len(boxes) * BOX_W + (len(boxes) - 1) * ARROW_W + 8
    parts = []
    for n, (name, below) in enumerate(boxes):
        x = 4 + n * (BOX_W + ARROW_W)
        parts.append(f'<rect x="{x}" y="4" width="{BOX_W}" height="{BOX_H}" rx="10" {LINE} style="stroke:{ACCENT}"/>')
        parts.append(_write(name, x + BOX_W / 2, 44, 21, bold=True))
        parts += [_write(line, x + BOX_W / 2, 72 + 20 * k, 14) for k, line in enumerate(_split_lines(below))]
        if n:
            end = x - 8
            parts.append(f'<path d="M{end - ARROW_W + 20} 59 H{end} M{end - 12} 49 L{end} 59 L{end - 12} 69" {LINE}/>')
    items = "".join(f"<li>{escape(step)}</li>" for step in steps)
    return f'<svg viewBox="0 0 {width} {BOX_H + 8}" role="img" aria-label="the way">{"".join(parts)}</svg><ol>{items}</ol>'


def draw_board_guide(steps: Sequence[str]) -> str:
    """Return two cameras that see a board held between them, with numbered steps beneath."""
    squares = "".join(
        f'<rect x="{320 + 16 * c}" y="{62 + 16 * r}" width="16" height="16" fill="currentColor"/>'
        for r in range(6)
        for c in range(9)
        if (r + c) % 2 == 0
    )
    board = f'<rect x="312" y="54" width="160" height="112" {LINE}/>{squares}'
    rays = f'<g {LINE} style="stroke:{ACCENT};stroke-dasharray:8 8;stroke-width:2">'
    rays += '<path d="M110 60 L310 60 M110 70 L310 160 M674 60 L474 60 M674 70 L474 160"/></g>'
    return _draw_scene(_draw_camera(40, 40, 1) + _draw_camera(744, 40, -1) + rays + board, 210, steps)


def draw_tpose_guide(steps: Sequence[str]) -> str:
    """Return somebody in the T-pose before two cameras, with numbered steps beneath."""
    body = f'<circle cx="392" cy="42" r="20" {LINE}/><path d="M392 62 V140 M392 140 L360 226 M392 140 L424 226" {LINE}/>'
    body += f'<path d="M262 84 H522" {LINE} style="stroke:{ACCENT};stroke-width:5"/>'
    markers = ((262, 84), (522, 84), (392, 62), (392, 140), (360, 226), (424, 226))
    dots = "".join(f'<circle cx="{x}" cy="{y}" r="7" fill="{ACCENT}"/>' for x, y in markers)
    return _draw_scene(_draw_camera(40, 110, 1) + _draw_camera(744, 110, -1) + body + dots, 240, steps)


def draw_nothing_but(steps: Sequence[str]) -> str:
    """Return numbered steps without a drawing."""
    return f"<ol>{''.join(f'<li>{escape(step)}</li>' for step in steps)}</ol>"


def _draw_scene(parts: str, height: int, steps: Sequence[str]) -> str:
    """Return a drawing with its steps."""
    return f'<svg viewBox="0 0 784 {height}" role="img" aria-label="how">{parts}</svg>' + draw_nothing_but(steps)


def _draw_camera(x: int, y: int, way: int) -> str:
    """Return a camera that looks to the right (way 1) or left (-1)."""
    lens = x + way * 52
    tripod = f"M{x + way * 20} {y + 50} L{x} {y + 92} M{x + way * 20} {y + 50} L{x + way * 40} {y + 92}"
    box = f'<rect x="{min(x, x + way * 40)}" y="{y}" width="40" height="48" rx="6" {LINE}/>'
    mount = f"M{x + way * 40} {y + 16} L{lens} {y + 8} V{y + 40} L{x + way * 40} {y + 32}"
    return f'{box}<path d="{mount}" {LINE}/><path d="{tripod}" {LINE}/>'


def _write(text: str, x: float, y: float, size: int, bold: bool = False) -> str:
    """Return a text around x."""
    weight = ' font-weight="700"' if bold else ""
    return f'<text x="{x:g}" y="{y:g}" font-size="{size}" text-anchor="middle"{weight}>{escape(text)}</text>'


def _split_lines(text: str) -> list[str]:
    """Return the words in lines that fit a box."""
    lines = [""]
    for word in text.split():
        if lines[-1] and len(lines[-1]) + 1 + len(word) > LETTERS:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return lines[:2]
