"""What every stage shares: settings, names of joints and markers, errors, the numba decorator."""

DUOCAP = True  # lets the launcher tell this package from the unrelated `config` on PyPI
