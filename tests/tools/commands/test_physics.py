"""`duocap physics` from end to end."""

import csv
from pathlib import Path

import numpy as np
import pytest

from database.builtin import make_builtin_clip
from database.clips import slice_clip
from database.files.read import read_clip
from stream.recording.recording import open_recording
from stream.take.from_recording import read_longest_motion
from tests.support.commands import duocap
from tests.support.files.takes import write_clip
from tests.tools.commands.walked import Walked

pytest.importorskip("pinocchio", reason='needs pinocchio: pip install "duocap[physics]"')

from reconstruct.models.physics import backend
from tools.physics.clean import BodyOptions, CleanInterruptedError, clean_motion
from tools.physics.motion import motion_from_clip

WALK = make_builtin_clip("walk", None, 30.0, 3)


@pytest.fixture(scope="module")
def walk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a BVH of some steps."""
    return write_clip(tmp_path_factory.mktemp("physics") / "walk.bvh", slice_clip(WALK, 20, 80))


def test_forces_are_written_and_their_contacts_can_be_given_back(
    walk: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, again = tmp_path / "f.csv", tmp_path / "g.csv"
    done = duocap(capsys, "physics", "forces", walk, "--out", out, "--mass", 70, "--plot", tmp_path / "f.png")
    assert done.status == 0 and "70.0 kg" in done.out and (tmp_path / "f.png").stat().st_size > 10_000
    rows = list(csv.DictReader(out.read_text().splitlines()))
    assert len(rows) == 60 and float(rows[1]["seconds"]) == pytest.approx(1.0 / 30.0, rel=1e-3)
    vertical = np.array([[float(row[f"{side}.force.y_N"]) for side in ("left", "right")] for row in rows]).sum(axis=1)
    assert vertical[5:-5].mean() == pytest.approx(70.0 * 9.81, rel=0.1)  # a walker neither rises nor falls for long
    heavy = ("--mass", 70, "--segment", "chest=+14")
    assert duocap(capsys, "physics", "forces", walk, "--out", again, *heavy).status == 0
    loaded = [
        float(row["left.force.y_N"]) + float(row["right.force.y_N"]) for row in csv.DictReader(again.read_text().splitlines())
    ]
    assert np.mean(loaded[5:-5]) / vertical[5:-5].mean() == pytest.approx(84.0 / 70.0, abs=0.02)
    for row in rows:
        u, torque = float(row["generalized.head.x_Nm"]), float(row["torque.head.x_Nm"])
        assert u == pytest.approx(torque, abs=1e-3)  # nothing touches the head
    assert duocap(capsys, "physics", "forces", walk, "--out", again, "--mass", 70, "--contacts", out).status == 0
    assert again.read_text() == out.read_text()
    header, *lines = out.read_text().splitlines()
    cells = [line.split(",") for line in lines]
    for row in cells:
        row[header.split(",").index("leftHeel")] = "1"  # through the swing as well
    again.write_text("\n".join([header, *(",".join(row) for row in cells)]) + "\n")
    done = duocap(capsys, "physics", "forces", walk, "--out", tmp_path / "h.csv", "--contacts", again)
    assert done.status == 0 and "a contact is in the air (leftHeel up to" in done.err


def table(file: Path) -> dict[str, np.ndarray]:
    """Return the columns of a table of forces."""
    rows = list(csv.DictReader(file.read_text().splitlines()))
    return {name: np.array([float(row[name]) for row in rows]) for name in rows[0]}


def test_a_clean_take_is_told_and_carries_its_forces(walk: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = {suffix: tmp_path / f"clean{suffix}" for suffix in (".bvh", ".mcap", ".c3d")}
    outs = [word for file in files.values() for word in ("--out", file)]
    done = duocap(capsys, "physics", "clean", walk, "--mass", 70, *outs)
    assert done.status == 0 and "60 of 60 frames cleaned" in done.out and "slide of standing feet" in done.out
    assert read_clip(files[".bvh"]).n_frames == 60 and not list(tmp_path.glob(".*.part"))
    assert b"FORCE_PLATFORM" in files[".c3d"].read_bytes() and b"Fz2" in files[".c3d"].read_bytes()

    read, anew = tmp_path / "read.csv", tmp_path / "anew.csv"
    done = duocap(capsys, "physics", "forces", files[".mcap"], "--out", read, "--plot", tmp_path / "read.png")
    assert (
        (tmp_path / "read.png").is_file()
        and done.status == 0
        and "60 frames, 70.0 kg: the forces that the recording has" in done.out
    )
    done = duocap(capsys, "physics", "forces", files[".mcap"], "--out", anew, "--anew", "--cutoff", 0)
    assert done.status == 0 and "70.0 kg" in done.out  # its mass is the recording's
    kept, found = table(read), table(anew)
    vertical = kept["left.force.y_N"] + kept["right.force.y_N"]
    assert vertical.mean() == pytest.approx(70.0 * 9.81, rel=0.05)
    both = found["left.force.y_N"] + found["right.force.y_N"]
    assert np.abs(vertical - both)[3:-3].mean() < 0.05 * 70.0 * 9.81
    again = duocap(capsys, "export", files[".mcap"], "--out", tmp_path / "again.c3d")
    assert again.status == 0 and b"Fz2" in (tmp_path / "again.c3d").read_bytes()
    refused = duocap(capsys, "export", files[".mcap"], "--out", files[".mcap"].with_name("clean.mcap"))
    assert refused.status == 1 and "is the recording itself" in refused.err
    files[".mcap"].with_name("other.mcap").write_bytes(b"kept")
    refused = duocap(capsys, "physics", "clean", walk, "--out", tmp_path / "other.mcap")
    assert refused.status == 1 and "never replaces anything" in refused.err


@pytest.mark.slow
def test_what_is_clean_is_kept_when_stopped_and_gone_on_from(tmp_path: Path) -> None:
    motion = motion_from_clip(slice_clip(WALK, 20, 180), "walk")
    part, options, frames = tmp_path / "part", BodyOptions(70.0), list[int]()

    def stopping(done: int, total: int | None) -> None:
        if frames:
            raise KeyboardInterrupt
        frames.append(done)

    with pytest.raises(CleanInterruptedError, match="the same command goes on from there"):
        clean_motion(motion, options, part, stopping)
    assert part.is_file() and 0 < frames[0] < 110
    seen: list[int] = []
    resumed = clean_motion(motion, options, part, lambda done, total: seen.append(done))
    assert seen[0] > frames[0] and not part.exists()
    whole = clean_motion(motion, options, None, lambda done, total: None)
    np.testing.assert_allclose(resumed.take.rotvec, whole.take.rotvec, atol=1e-9)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("forces", "WALK", "--out", "f.csv", "--mass", "0"), "expected the mass of a person"),
        (("forces", "WALK", "--out", "f.csv", "--mass", "nan"), "expected the mass of a person"),
        (("clean", "WALK", "--out", "c.bvh", "--mass", "-80"), "expected the mass of a person"),
        (("forces", "WALK", "--out", "f.csv", "--segment", "leftFoot=0"), "a segment needs a mass above 0"),
        (("clean", "WALK", "--out", "c.bvh", "--segment", "leftFoot"), "such as leftFoot=3 or leftFoot=+2"),
        (("forces", "WALK", "--out", "f.csv", "--friction", "-1"), "expected a coefficient from 0"),
        (("clean", "WALK", "--out", "c.bvh", "--friction", "nan"), "expected a coefficient from 0"),
        (("forces", "WALK", "--out", "f.txt"), "ends with .csv"),
        (("forces", "WALK", "--out", "f.csv", "--plot", "f.doc"), "ends with .png"),
        (("forces", "WALK", "--out", "f.csv", "--cutoff", "-3"), "or 0 for no filter"),
        (("forces", "WALK", "--out", "f.csv", "--contacts", "WALK"), "no column leftHeel"),
        (("forces", "WALK", "--out", "f.csv", "--subject", "s.toml"), "has a body of its own"),
        (("forces", "short.bvh", "--out", "f.csv"), "have no accelerations"),
        (("clean", "few.bvh", "--out", "c.bvh"), "no 8 frames in a row"),
        (("clean", "nan.bvh", "--out", "c.bvh"), "nan.bvh"),
        (("clean", "none.bvh", "--out", "c.bvh"), "none.bvh"),
        (("forces", "m.trc", "--out", "f.csv"), "no TRC file"),
        (("forces", "other.trc", "--out", "f.csv"), "needs the body that wears it: a TRC and --subject"),
        (("clean", "WALK", "--out", "WALK"), "is the recording itself"),
    ],
)
def test_what_is_wrong_is_one_line(
    walk: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: tuple[str, ...],
    said: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    write_clip(tmp_path / "short.bvh", slice_clip(WALK, 0, 2))
    write_clip(tmp_path / "few.bvh", slice_clip(WALK, 0, 5))
    lines = walk.read_text().splitlines()
    (tmp_path / "nan.bvh").write_text("\n".join([*lines[:-1], "nan " + lines[-1].partition(" ")[2]]) + "\n")
    (tmp_path / "m.trc").write_text("PathFileType\n")
    rows = "".join(f"{n}\t{0.01 * n}\t1\t2\t3\n" for n in range(3))
    (tmp_path / "other.trc").write_text(f"PathFileType\nUnits\nmm\nFrame#\tTime\tnose\n\t\tX1\tY1\tZ1\n{rows}")
    done = duocap(capsys, "physics", *(str(walk) if word == "WALK" else word for word in words))
    assert done.status != 0 and said in done.err.replace("\n", " "), done.err
    assert "Traceback" not in done.err and not list(tmp_path.glob("[fc].*"))


def test_without_the_library_one_line_says_what_to_install(
    walk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def missing(name: str) -> None:
        raise ImportError(name)

    backend.import_pinocchio.cache_clear()
    monkeypatch.setattr(backend, "import_module", missing)
    done = duocap(capsys, "physics", "clean", walk, "--out", tmp_path / "c.bvh")
    backend.import_pinocchio.cache_clear()
    assert done.status == 1 and 'pip install "duocap[physics]"' in done.last and "conda-forge" in done.last


@pytest.mark.slow
def test_a_replay_exports_what_obeys_physics(walked: Walked, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = [word for name in ("clean.bvh", "clean.c3d", "clean.trc", "clean.mcap") for word in ("--out", tmp_path / name)]
    done = duocap(capsys, *walked.replay_words("--no-publish", "--physics", "--mass", 70, *files))
    assert done.status == 0 and "70.0 kg" in done.out and "slide of standing feet" in done.out, done.err
    assert read_clip(tmp_path / "clean.bvh").n_frames > 30 and (tmp_path / "clean.c3d").is_file()
    recorded = read_longest_motion(open_recording(tmp_path / "clean.mcap")).take()
    assert recorded.forces is not None and recorded.forces.mass_kg == pytest.approx(70.0) and recorded.forces.known.mean() > 0.8
    assert recorded.markers is not None and recorded.markers.valid.any()
    trc, ann = tmp_path / "clean.trc", walked.folder / "ann.toml"
    posed = duocap(capsys, "physics", "forces", trc, "--subject", ann, "--out", tmp_path / "f.csv")
    assert posed.status == 0 and "markers posed Ann" in posed.out, posed.err
    for words, said in ((("--mass", 70), "add --physics"), (("--physics",), "name a file by --out")):
        refused = duocap(capsys, *walked.replay_words("--no-publish", *words))
        assert refused.status != 0 and said in refused.err
