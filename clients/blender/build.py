"""Build the extension with the wheels it needs: python build.py [OUT.zip]; for the platform and Python version it runs on."""

import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent


def main(out: Path) -> None:
    """Collect wheels with pip, name them in the manifest, zip everything."""
    with tempfile.TemporaryDirectory() as work:
        wheels = Path(work)
        pip = [sys.executable, "-m", "pip", "wheel", "-q", "--wheel-dir", str(wheels)]
        subprocess.run([*pip, str(HERE.parent / "python")], check=True)
        names = sorted(wheel.name for wheel in wheels.glob("*.whl"))
        listed = "".join(f'  "./wheels/{name}",\n' for name in names)
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
            for file in sorted((HERE / "duocap_live").glob("*.py")):
                archive.write(file, file.name)
            manifest = (HERE / "duocap_live" / "blender_manifest.toml").read_text("utf-8")
            head, permissions, rest = manifest.partition("[permissions]")
            archive.writestr("blender_manifest.toml", f"{head}wheels = [\n{listed}]\n\n{permissions}{rest}")
            for name in names:
                archive.write(wheels / name, f"wheels/{name}")
    print(f"{out}: Blender, Preferences, Get Extensions, Install from Disk")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "duocap_live.zip"))
