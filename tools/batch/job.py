"""What a batch is asked for, in a job file or by folders of takes, as tasks.

A job file has a table for each wish: [[replay]], [[solve]], [[export]], [[clean]], [[evaluate]], [[database]]. Its paths are
relative to it.
"""

import difflib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import Any, Final, NamedTuple

from capture.recording.session import is_session
from config.errors import DuocapError
from config.files import read_toml
from config.loading import load_settings
from config.settings import CAMERA_NAMES
from tools.batch.task import ALONE, COMMON, EVALUATE, OPTIONS, OUT, REPORT, VIDEOS, BatchTask, OptionType
from tools.export import FORMATS

TOP: Final = ("out", "set", "config", *OPTIONS)
RIG, SUBJECT, STAMPS, SESSION_FILE = "rig.toml", "subject.toml", "timestamps.csv", "session.toml"
TAKES: Final = ("takes", "out", "name")
OWN_KEYS: Final = {
    "replay": (*TAKES, *CAMERA_NAMES),
    "solve": TAKES,
    "export": TAKES,
    "clean": TAKES,
    "evaluate": ("table", "name"),
    "database": ("sources", "name"),
}


class JobError(DuocapError):
    """A job file that cannot be read or names files that do not exist."""


@dataclass(frozen=True, slots=True)
class BatchJob:
    """Tasks of different names, and the folder of their results."""

    tasks: tuple[BatchTask, ...]
    out: Path


@dataclass(slots=True)
class _Words:
    """A command that is being put together: words, and inputs by their absolute paths."""

    words: list[str]
    inputs: list[str]

    def file(self, path: Path) -> str:
        """Return the placeholder of an input."""
        self.inputs.append(str(path.absolute()))
        return f"{{in{len(self.inputs) - 1}}}"

    def add_default_database(self, entry: Mapping[str, Any]) -> None:
        """Add the default database, as an input, unless the entry names one."""
        from tools.database.installed import find_default_database

        if "database" not in entry:
            self.words += ["--database", self.file(find_default_database())]

    def task(self, name: str, kind: str, recording: str = "", unread: tuple[str, ...] = ()) -> BatchTask:
        """Return the task."""
        return BatchTask(name, kind, tuple(self.words), tuple(self.inputs), unread, recording)


def read_job(places: Sequence[Path], out: Path | None, sets: Sequence[str] = (), config: Path | None = None) -> BatchJob:
    """Return the tasks of a job file, or of folders that are searched for sessions and the videos of cameras.

    Args:
        places: a job file, or folders.
        out: folder of the results; None: by the place.
        sets, config: settings for all tasks, as the command has them.
    Raises: DuocapError.
    """
    common: dict[str, Any] = {"set": list(sets), **({} if config is None else {"config": str(config.absolute())})}
    load_settings(config, sets)
    tasks: list[BatchTask] = []
    for place in places:
        if place.is_dir():
            out = out or place / "batch"
            tasks += _build_replays({"takes": ["."], **common}, place, f"{place}: replay", _find_sources(place, out))
        elif place.suffix.lower() == ".toml" and place.is_file():
            table = read_toml(place, JobError, "the job")
            out = out or place.absolute().parent / str(table.get("out", f"{place.stem}-out"))
            tasks += _read_tasks(table, place, common)
        else:
            raise JobError(f"{place}: no job file (.toml) and no folder of takes")
    if not tasks or out is None:
        raise JobError(
            f"{', '.join(map(str, places))}: nothing to do; there are no sessions, and no left and right videos with a rig.toml"
        )
    _check_names(tasks)
    return BatchJob(tuple(tasks), out.absolute())


def _read_tasks(table: Mapping[str, Any], file: Path, common: Mapping[str, Any]) -> Iterator[BatchTask]:
    """Return the tasks of a job file. common: settings that are stronger than its own. Raises JobError."""
    _check_keys(table, TOP, str(file))
    folder = file.absolute().parent
    makers: dict[str, Callable[..., Iterator[BatchTask]]] = {
        "replay": _build_replays,
        "solve": partial(_build_changes, kind=SOLVE),
        "export": partial(_build_changes, kind=EXPORT),
        "clean": partial(_build_changes, kind=CLEAN),
        "evaluate": _build_evaluations,
        "database": _build_databases,
    }
    settings = {key: table[key] for key in ("set", "config") if key in table}
    load_settings(
        folder / str(settings["config"]) if "config" in settings else None, _read_texts(settings.get("set", []), f"{file}: set")
    )
    for kind, make in makers.items():
        entries = table.get(kind, [])
        for number, entry in enumerate(entries if isinstance(entries, list) else [entries], start=1):
            where = f"{file}: {kind} {number}"
            if not isinstance(entry, dict):
                raise JobError(f"{where}: expected a table, [[{kind}]]")
            _check_keys(entry, (*OWN_KEYS[kind], *OPTIONS[kind]), where)
            sets = [*settings.get("set", []), *entry.get("set", []), *common["set"]]
            yield from make({**settings, **entry, **common, "set": sets}, folder, where)


def _check_keys(table: Mapping[str, Any], known: Iterable[str], where: str) -> None:
    """Raise JobError for a key that is not known, with the nearest that is."""
    known = tuple(known)
    for key in table:
        if key not in known:
            raise JobError(f"{where}: unknown key {key!r}; {_suggest_nearest(key, known)}")


def _suggest_nearest(word: str, known: Sequence[str]) -> str:
    """Return in words the nearest of known words, or all of them."""
    near = difflib.get_close_matches(word, known, 1, 0.5)
    return f"the closest one is {near[0]!r}" if near else f"known: {', '.join(known)}"


def _check_names(tasks: Sequence[BatchTask]) -> None:
    """Raise JobError for two tasks that would write to one place."""
    names = {task.name for task in tasks}
    seen: set[str] = set()
    for task in tasks:
        above = {task.name.rsplit("/", n)[0] for n in range(1, task.name.count("/") + 1)} & names
        if task.name in seen or above:
            raise JobError(f"two tasks would write to {task.name!r}; give one of their tables another name (name = ...)")
        seen.add(task.name)


def _add_options(words: _Words, entry: Mapping[str, Any], kind: str, folder: Path, where: str) -> None:
    """Add what an entry says of the command's options. Raises JobError: a value of another type, a file that is not there."""
    for key, raw in entry.items():
        value = OPTIONS[kind].get(key)
        option = "--" + key.replace("_", "-")
        if value is OptionType.FLAG:
            if not isinstance(raw, bool):
                raise JobError(f"{where}: {key} must be true or false, got {raw!r}")
            words.words += [option] * raw
        elif value is OptionType.FILE:
            words.words += [option, words.file(folder / str(raw))]
        elif value is OptionType.MANY:
            words.words += [word for text in _read_texts(raw, f"{where}: {key}") for word in (option, text)]
        elif value is OptionType.ONE:
            if isinstance(raw, bool) or not isinstance(raw, str | int | float):
                raise JobError(f"{where}: {key} must be a text or a number, got {raw!r}")
            words.words += [option, str(raw)]


def _read_texts(raw: Any, where: str) -> list[str]:
    """Return a text or several as a list. Raises JobError."""
    texts = raw if isinstance(raw, list) else [raw]
    if not all(isinstance(text, str | int | float) and not isinstance(text, bool) for text in texts):
        raise JobError(f"{where} must be a text or a list of texts, got {raw!r}")
    return [str(text) for text in texts]


def _find_paths(entry: Mapping[str, Any], key: str, folder: Path, where: str) -> list[Path]:
    """Return the paths that an entry's patterns match, by name. Raises JobError: none does."""
    if key not in entry:
        raise JobError(f"{where}: {key} is missing: paths or patterns such as 'monday/*'")
    found: dict[Path, None] = {}
    for text in _read_texts(entry[key], f"{where}: {key}"):
        pattern = Path(text)
        base, part = (Path(pattern.anchor), str(pattern.relative_to(pattern.anchor))) if pattern.is_absolute() else (folder, text)
        matches = [base] if part in (".", "") else sorted(path for path in base.glob(part) if not path.name.startswith("."))
        if not matches:
            raise JobError(f"{where}: {key}: nothing matches {text!r} in {base}")
        found |= dict.fromkeys(matches)
    return list(found)


def _build_task_name(entry: Mapping[str, Any], path: Path, folder: Path) -> str:
    """Return a task's name: the path of its take below the job's folder, below the entry's own name if it has one."""
    inside = path.absolute().is_relative_to(folder.absolute())
    parts = path.absolute().relative_to(folder.absolute()) if inside else Path(path.absolute().name)
    own = "/".join(part for part in (*parts.parts[:-1], parts.name if path.is_dir() else parts.stem) if part != "..")
    return "/".join(part for part in (str(entry.get("name", "")), own) if part) or path.absolute().name


def _read_formats(entry: Mapping[str, Any], where: str, default: Sequence[str]) -> list[str]:
    """Return the formats that are asked for. Raises JobError: an unknown one."""
    formats = [text.removeprefix(".") for text in _read_texts(entry.get("out", list(default)), f"{where}: out")]
    for name in formats:
        if name not in FORMATS:
            raise JobError(f"{where}: out: unknown format {name!r}; {_suggest_nearest(name, tuple(FORMATS))}")
    return formats


def _add_outputs(words: _Words, leaf: str, formats: Iterable[str]) -> None:
    """Add the files that are to be written."""
    for name in dict.fromkeys(formats):
        words.words += ["--out", f"{OUT}/{leaf}{FORMATS[name].suffix}"]


def _find_sources(folder: Path, out: Path) -> list[Path]:
    """Return the sessions and folders of videos of two cameras or more below a folder, without the results of batches."""
    found = {file.parent for file in folder.rglob(SESSION_FILE)}
    found |= {
        file.parent
        for file in folder.rglob("left.*")
        if file.suffix in VIDEOS and len(_find_other_videos(file)) > 1 and _find_file_above(file.parent, RIG, folder)
    }
    return sorted(path for path in found if not path.absolute().is_relative_to(out.absolute()))


def _find_other_videos(left: Path) -> list[Path]:
    """Return the videos of all cameras beside the left one, itself first, up to the first that is not there."""
    files = (left.with_name(left.name.replace(CAMERA_NAMES[0], name, 1)) for name in CAMERA_NAMES)
    return list(takewhile(Path.is_file, files))


def _find_file_above(folder: Path, name: str, top: Path) -> Path | None:
    """Return the file of that name in a folder or the nearest above it, up to the top."""
    for place in (folder, *folder.parents):
        if (place / name).is_file():
            return place / name
        if place.absolute() == top.absolute():
            break
    return None


def _build_replays(
    entry: Mapping[str, Any], folder: Path, where: str, takes: Sequence[Path] | None = None
) -> Iterator[BatchTask]:
    """Return the replays of an entry. Raises JobError."""
    if "left" in entry:
        videos = [folder / str(entry[side]) for side in CAMERA_NAMES if side in entry]
        name = str(entry.get("name", "")) or _build_task_name({}, videos[0], folder)
        yield _build_video_replay(entry, folder, where, name, videos)
        return
    for take in _find_paths(entry, "takes", folder, where) if takes is None else takes:
        name = _build_task_name(entry, take, folder)
        if is_session(take):
            yield _build_session_replay(entry, folder, where, name, take)
            continue
        lefts = sorted(file for file in take.glob("left.*") if file.suffix in VIDEOS) if take.is_dir() else []
        found = [videos for left in lefts if len(videos := _find_other_videos(left)) > 1]
        if not found:
            if any("*" in text for text in _read_texts(entry["takes"], where)):
                continue  # a pattern also matches what lies beside the takes
            raise JobError(f"{where}: {take} is no session and has no left and right video")
        yield _build_video_replay(entry, folder, where, name, found[0])


def _build_session_replay(entry: Mapping[str, Any], folder: Path, where: str, name: str, take: Path) -> BatchTask:
    """Return the replay of a session, with the database it ran with."""
    from database.default import find_default_database_path
    from stream.recording.session import read_session
    from tools.database.installed import find_default_database

    words = _Words(["replay"], [])
    words.words += [words.file(take), "--no-publish"]
    _add_options(words, entry, "replay", folder, where)
    if "database" not in entry:
        known = read_session(take).database
        places = [Path(known.file), find_default_database_path()] if known is not None else [find_default_database()]
        place = next((place for place in places if place.is_file()), None)
        words.words += [] if place is None else ["--database", words.file(place)]
    unread = () if entry.get("video") else (".mkv",)
    return _build_replay_task(words, entry, where, name, unread)


def _build_video_replay(entry: Mapping[str, Any], folder: Path, where: str, name: str, videos: Sequence[Path]) -> BatchTask:
    """Return the replay of videos; rig, subject and time stamps are found beside them or above. Raises JobError."""
    words = _Words(["replay"], [])
    words.words += [*map(words.file, videos), "--no-publish"]
    place = videos[0].parent
    for key, file_name in (("rig", RIG), ("subject", SUBJECT)):
        file = None if key in entry else _find_file_above(place, file_name, folder)
        if key not in entry and file is None:
            raise JobError(f"{where}: {name}: no {file_name} beside the videos or above them; name one ({key} = ...)")
        words.words += [] if file is None else [f"--{key}", words.file(file)]
    if not {"timestamps", "fps"} & set(entry) and (place / STAMPS).is_file():
        words.words += ["--timestamps", words.file(place / STAMPS)]
    _add_options(words, entry, "replay", folder, where)
    words.add_default_database(entry)
    return _build_replay_task(words, entry, where, name)


def _build_replay_task(words: _Words, entry: Mapping[str, Any], where: str, name: str, unread: tuple[str, ...] = ()) -> BatchTask:
    """Return a replay that writes what is wanted, a recording to look at and a report."""
    leaf = name.rpartition("/")[2]
    _add_outputs(words, leaf, [*_read_formats(entry, where, ["bvh"]), "mcap"])
    words.words += ["--report", f"{OUT}/{REPORT}"]
    return words.task(name, "replay", f"{leaf}.mcap", unread)


class _ChangeKind(NamedTuple):
    """A command of one take: its words, formats where none are asked for, and whether the result is shown or the take."""

    kind: str
    words: tuple[str, ...]
    formats: tuple[str, ...]
    records: bool = True
    solves: bool = False


SOLVE: Final = _ChangeKind("solve", ("solve",), ("bvh", "c3d"), solves=True)
EXPORT: Final = _ChangeKind("export", ("export",), (), records=False)
CLEAN: Final = _ChangeKind("clean", ("physics", "clean"), ("bvh",))


def _build_changes(entry: Mapping[str, Any], folder: Path, where: str, kind: _ChangeKind) -> Iterator[BatchTask]:
    """Return the takes of an entry to be solved, exported or cleaned, a task each. Raises JobError."""
    formats = _read_formats(entry, where, kind.formats)
    if not formats:
        raise JobError(f"{where}: out is missing: formats such as ['bvh', 'glb']")
    for take in _find_paths(entry, "takes", folder, where):
        if not kind.records and take.is_dir() and not is_session(take):
            continue
        words, name = _Words(list(kind.words), []), _build_task_name(entry, take, folder)
        words.words.append(words.file(take))
        _add_options(words, entry, kind.kind, folder, where)
        if kind.solves:
            words.add_default_database(entry)
        leaf = name.rpartition("/")[2]
        _add_outputs(words, leaf, [*formats, *(["mcap"] * kind.records)])
        words.words += ["--report", f"{OUT}/solve.txt"] * kind.solves
        yield words.task(name, kind.kind, f"{leaf}.mcap" if kind.records else "{in0}", () if kind.solves else (".mkv",))


def _build_evaluations(entry: Mapping[str, Any], folder: Path, where: str) -> Iterator[BatchTask]:
    """Return an evaluation. Raises JobError: no such table."""
    table = str(entry.get("table", ""))
    if table not in EVALUATE:
        raise JobError(f"{where}: table must be one of {', '.join(EVALUATE)}, got {table!r}")
    _check_keys(entry, (*OWN_KEYS["evaluate"], *COMMON, *EVALUATE[table]), f"{where} ({table})")
    words = _Words(["evaluate", table], [])
    _add_options(words, entry, "evaluate", folder, where)
    if "database" in EVALUATE[table] and "motion" not in entry:
        words.add_default_database(entry)
    words.words += ["--workers", "1"] * (table not in ALONE)
    words.words += ["--json", f"{OUT}/figures.json"]
    yield words.task(str(entry.get("name", table)), "evaluate")


def _build_databases(entry: Mapping[str, Any], folder: Path, where: str) -> Iterator[BatchTask]:
    """Return a database to be built. Raises JobError."""
    if "name" not in entry:
        raise JobError(f"{where}: name is missing: of the database")
    words, name = _Words(["database", "build"], []), str(entry["name"])
    words.words += [words.file(source) for source in _find_paths(entry, "sources", folder, where)]
    _add_options(words, entry, "database", folder, where)
    words.words += ["--processes", "1", "--out", f"{OUT}/{name.rpartition('/')[2]}.db"]
    yield words.task(name, "database")
