"""What every folder shares: settings and their loading, joints and marker sets, errors, atomic files, logs, the numba decorator.

In: TOML files (`--config`, marker sets, tuned values) and `--set`. Out: `Settings` and `MarkerSet`, frozen and checked.

Other folders import arrays, errors, files, jit, joints, landmarks, loading, logs, markers, optical, per_camera, settings,
signatures, text, units, words.
"""

DUOCAP = True  # a foreign package named `config` lacks it: tools/launch.py tells them apart
