"""Pieces of HTML that every page uses."""

from html import escape

GOOD, BAD, NEUTRAL = "#12996f", "#d9480f", "#74777d"
BAD_TEXT = "light-dark(#b3400a, #ff8a5c)"  # of letters, with contrasts of 5.7 and 6.7 to 1
QUIET_RGB = (73, 80, 87)  # of buttons that are not the usual next one; white letters on it have a contrast of 8 to 1
BRIGHT = 0.1791  # relative luminance above which black text has more contrast than white: (1.05 / (L + 0.05))^2 = 21


def format_pill(text: str, color: str) -> str:
    """Return a coloured label; its text is black or white, whichever contrasts more (at least 4.58 to 1)."""
    ink = "#000" if compute_luminance(color) > BRIGHT else "#fff"
    return f'<span class="pill" style="background:{color};color:{ink}">{escape(text)}</span>'


def compute_luminance(color: str) -> float:
    """Return the relative luminance of a colour such as #12996f, 0 to 1 (WCAG 2.2)."""
    shares = [int(color[k : k + 2], 16) / 255.0 for k in (1, 3, 5)]
    linear = [share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
