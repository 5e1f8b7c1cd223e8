"""Whether the user's system is dark or light, as far as it tells."""

import subprocess
import sys

ASK_S = 1.0
WINDOWS_KEY = r"Software\Microsoft\Windows\CurrentVersion\Themes\Personalize"
ASK = {
    "darwin": ("defaults", "read", "-g", "AppleInterfaceStyle"),
    "linux": ("gsettings", "get", "org.gnome.desktop.interface", "color-scheme"),
}


def prefers_dark() -> bool:
    """Tell whether the system asks for dark pages; dark where it does not say, which suits a 3D scene."""
    if sys.platform == "win32":
        import winreg

        try:
            with winreg.OpenKey(winreg.HKEY_CURRENT_USER, WINDOWS_KEY) as key:
                return bool(winreg.QueryValueEx(key, "AppsUseLightTheme")[0] == 0)
        except OSError:
            return True
    return is_dark(sys.platform, _answer(ASK.get(sys.platform)))


def is_dark(platform: str, answer: str | None) -> bool:
    """Read the answer of a system; None: it gave none."""
    if platform == "darwin":
        return "dark" in (answer or "").lower()  # a light system has no such entry
    return answer is None or "light" not in answer


def _answer(command: tuple[str, ...] | None) -> str | None:
    """Ask the system, None where it does not answer."""
    if command is None:
        return None
    try:
        asked = subprocess.run(command, capture_output=True, text=True, timeout=ASK_S, check=False)
    except (OSError, subprocess.SubprocessError):
        return None
    return asked.stdout if asked.returncode == 0 else None
