"""Marker files as other programs write them."""

from pathlib import Path

from config.arrays import Bools, Floats


def write_trc(file: Path, labels: tuple[str, ...], point_m: Floats, valid: Bools, fps: float) -> Path:
    """Write a TRC, blank where nothing is seen.

    Args:
        file: to write.
        labels: P.
        point_m: (N, P, 3) [m].
        valid: (N, P).
        fps: frames a second.
    """
    head = f"PathFileType\t4\t(X/Y/Z)\tx\nDataRate\tNumFrames\tUnits\n{fps:g}\t{len(point_m)}\tmm\nFrame#\tTime\t"
    names = "\t\t\t".join(labels) + "\n\t\t" + "\t".join(f"X{k}\tY{k}\tZ{k}" for k in range(1, len(labels) + 1)) + "\n\n"
    lines = []
    for n, (at, seen) in enumerate(zip(point_m, valid, strict=True)):
        cells = [f"{1e3 * x:.3f}" if there else "" for row, there in zip(at, seen, strict=True) for x in row.tolist()]
        lines.append("\t".join([str(n + 1), f"{n / fps:.6f}", *cells]))
    file.write_text(head + names + "\n".join(lines) + "\n")
    return file
