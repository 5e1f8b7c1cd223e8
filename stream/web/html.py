"""Pieces of HTML that every page uses."""

from html import escape

import viser

GOOD, BAD, NEUTRAL = "#12996f", "#d9480f", "#74777d"


def format_pill(text: str, color: str) -> str:
    """Return a coloured label."""
    return f'<span class="pill" style="background:{color}">{escape(text)}</span>'


def set_html(handle: viser.GuiHtmlHandle, content: str) -> None:
    """Set the content of a widget; nothing is sent if it has not changed."""
    if handle.content != content:
        handle.content = content
