"""The posing page: its models, files and server, turned until Ctrl-C."""

import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import platformdirs

from capture.sockets.endpoints import find_key_settings
from config.errors import DuocapError
from config.settings import Settings, ViewerSettings
from config.words import format_count
from database.files.retarget import NO_HINTS, ImportHints
from tools.arguments import open_database_or_default
from tools.export import FORMATS, ExportFile, write_take, write_takes
from tools.interrupt import raise_if_interrupted, raise_on_interrupt
from tools.progress import open_progress_bar
from tools.viewer import open_browser, tell_page, wants_dark

if TYPE_CHECKING:
    from config.arrays import Singles
    from database.geometry.skeleton import Skeleton
    from stream.posing.document import Document
    from stream.posing.model import PosingModel
    from stream.posing.near import KnownPoses
    from stream.posing.page.app import PageOptions, PosingApp
    from stream.posing.session import PosingSession
    from stream.publish.fanout import OutputFanout
    from stream.take.take import Take

TITLE = "duocap pose"
STYLE_SUFFIX, DICTIONARY_SUFFIX, SESSION_SUFFIX = ".style", ".sparse", ".json"
DEFAULT_ATOMS, DEFAULT_FPS = 300, 30.0


@dataclass(frozen=True, slots=True)
class PoseTask:
    """Options of posing.

    Attributes:
        styles, dictionary: files, none: of built-in motions.
        session: session to go on with; None for a new one.
        take: motion or recording whose poses a new session begins with, as keys; None: without.
        hints: what is known of a motion of another program.
        model: name of the model.
        picture: picture to pose after, or None.
        database: database whose poses can be taken; None for the default one.
        publish: whether poses are published from the start.
        browser: open the system's.
        out: file that a new session is saved in; None: one in the user's data folder.
    """

    settings: Settings
    styles: tuple[Path, ...] = ()
    session: Path | None = None
    dictionary: Path | None = None
    model: str = "average"
    picture: Path | None = None
    database: Path | None = None
    publish: bool = False
    browser: bool = True
    take: Path | None = None
    hints: ImportHints = NO_HINTS
    out: Path | None = None


ModelLoader = Callable[[PoseTask], "PosingModel"]


def load_style_model(task: PoseTask) -> "PosingModel":
    """Return the model of the given styles, mixed in equal shares, or of the default style. Raises DuocapError."""
    from reconstruct.models.style.file import read_style
    from reconstruct.models.style.synthesis.synthesizer import Synthesizer
    from reconstruct.posing.style import StylePoser
    from stream.posing.model import PosingModel
    from tools.style.builtin import load_default_style

    styles = [read_style(file) for file in task.styles] or [load_default_style()]
    synthesizer = Synthesizer(styles, [1.0 / len(styles)] * len(styles))
    names = tuple(style.name for style in styles)
    return PosingModel("style", StylePoser(synthesizer), names, lambda shares: StylePoser(synthesizer.with_shares(shares)))


def load_local_model(task: PoseTask) -> "PosingModel":
    """Return the local model among the poses of the built-in motions."""
    from reconstruct.posing.local import LocalPoser
    from stream.posing.model import PosingModel

    skeleton, poses = _load_builtin_poses()
    return PosingModel("local", LocalPoser(skeleton, poses))


def load_sparse_model(task: PoseTask) -> "PosingModel":
    """Return the given dictionary, or one of the built-in motions. Raises DuocapError."""
    from reconstruct.models.sparse.learn import DictionaryOptions
    from reconstruct.models.sparse.model import read_dictionary
    from reconstruct.models.sparse.train import TrainOptions, train_pose_dictionary
    from reconstruct.posing.sparse import SparsePoser
    from stream.posing.model import PosingModel

    if task.dictionary is not None:
        return PosingModel("sparse", SparsePoser(read_dictionary(task.dictionary)))
    skeleton, poses = _load_builtin_poses()
    with tempfile.TemporaryDirectory() as folder, open_progress_bar("learning a dictionary of built-in motions") as show:
        options = TrainOptions(1, DictionaryOptions(n_atoms=DEFAULT_ATOMS))
        model = train_pose_dictionary(lambda: [poses], skeleton, "built-in motions", Path(folder) / "part", options, show)
    return PosingModel("sparse", SparsePoser(model))


def _load_builtin_poses() -> "tuple[Skeleton, Singles]":
    """Return the skeleton and the poses of the built-in motions, (N, J, 3) [rad]."""
    import numpy as np

    from database.builtin.catalog import make_builtin_clip
    from tools.style.builtin import DEFAULT_MOTIONS

    clips = [make_builtin_clip(name, fps=DEFAULT_FPS) for name in DEFAULT_MOTIONS]
    return clips[0].skeleton, np.concatenate([clip.rotvec for clip in clips]).astype(np.float32)


def load_average_model(task: PoseTask) -> "PosingModel":
    """Return the average of the other models. Raises DuocapError."""
    from reconstruct.posing.average import AveragePoser
    from stream.posing.model import PosingModel

    style, local, sparse = load_style_model(task), load_local_model(task), load_sparse_model(task)
    others = (local.poser, sparse.poser)
    return PosingModel(
        "average",
        AveragePoser((style.poser, *others)),
        style.styles,
        lambda shares: AveragePoser((style.with_shares(shares), *others)),
    )


# A model is a line here.
MODELS: dict[str, ModelLoader] = {
    "average": load_average_model,
    "local": load_local_model,
    "sparse": load_sparse_model,
    "style": load_style_model,
}


def choose_model(files: "PosingFiles") -> str:
    """Return the model that some files are for; that of none is the average of all."""
    if files.dictionary is not None and not files.styles:
        return "sparse"
    return "style" if files.styles else "average"


@dataclass(frozen=True, slots=True)
class PosingFiles:
    """Files by kind: styles, a dictionary, a session and a take, or None."""

    styles: tuple[Path, ...]
    dictionary: Path | None
    session: Path | None
    take: Path | None


def sort_files_by_kind(files: Sequence[Path]) -> PosingFiles:
    """Return files by kind. Raises DuocapError: a file of no kind, a missing one, several of one kind, or session and take."""
    from stream.recording.folders import SUFFIX as RECORDING
    from stream.take.read import KINDS, is_motion_file

    styles = tuple(file for file in files if file.suffix.lower() == STYLE_SUFFIX)
    dictionaries = [file for file in files if file.suffix.lower() == DICTIONARY_SUFFIX]
    sessions = [file for file in files if file.suffix.lower() == SESSION_SUFFIX]
    takes = [file for file in files if is_motion_file(file) or file.suffix.lower() == RECORDING]
    single = {"dictionaries": dictionaries, "sessions": sessions, "takes": takes}
    kinds = f"styles (*{STYLE_SUFFIX}), a dictionary (*{DICTIONARY_SUFFIX}), a session (*{SESSION_SUFFIX}), {KINDS}"
    for file in files:
        if not file.is_file():
            raise DuocapError(f"{file}: no such file; give {kinds}")
        if file not in styles and not any(file in some for some in single.values()):
            raise DuocapError(f"{file}: nothing to pose with; give {kinds}")
    for what, some in single.items():
        if len(some) > 1:
            raise DuocapError(f"{len(some)} {what} were given; one is posed with at a time")
    if sessions and takes:
        raise DuocapError("a session and a take were given; a take begins a new session")
    return PosingFiles(styles, *(next(iter(some), None) for some in (dictionaries, sessions, takes)))


def serve_posing_page(task: PoseTask, tell: Callable[[str], None]) -> None:
    """Serve the page until Ctrl-C. Raises DuocapError."""
    prepared = prepare_posing(task, tell)
    app, url = open_posing_page(prepared, task.settings.viewer)
    file = prepared.options.file
    with raise_on_interrupt():
        try:
            tell(f"session: {file} (saved with every change; to go on: duocap pose {file})")
            tell_page("pose", url, task.settings.viewer.port, tell)
            if task.browser:
                open_browser(url)
            while True:
                app.update()
                raise_if_interrupted()
        except KeyboardInterrupt:
            tell(f"ended; the session is {file}" if file.is_file() else "ended; nothing was posed")
        finally:
            app.close()  # saves what is not saved yet


@dataclass(frozen=True, slots=True)
class PreparedPosing:
    """What a posing page is made of. picture: name and bytes of the one to pose after, or None."""

    session: "PosingSession"
    options: "PageOptions"
    picture: tuple[str, bytes] | None = None


def open_posing_page(prepared: PreparedPosing, view: ViewerSettings) -> "tuple[PosingApp, str]":
    """Return the page, ready to turn, and its address. Raises DuocapError."""
    from stream.posing.page.app import PosingApp
    from stream.web.server import serve_page

    page = serve_page(view.host, view.port, TITLE)
    app = PosingApp(page.server, prepared.session, prepared.options)
    if prepared.picture is not None:
        app.picture.open(*prepared.picture)
    return app, page.url


def prepare_posing(task: PoseTask, tell: Callable[[str], None]) -> PreparedPosing:
    """Return what a page is made of, its model read and its kernels compiled. Raises DuocapError."""
    from stream.posing.page.app import PageOptions
    from stream.posing.publishing import PosePublisher, compose_posed_skeleton
    from stream.posing.session import PosingSession
    from stream.posing.session_file import check_session_body, read_posing_session, write_posing_session

    document = None if task.session is None else read_posing_session(task.session)
    picture = None if task.picture is None else _read_picture_file(task.picture)
    if task.database is not None:
        open_database_or_default(task.database)  # one that cannot be read ends the command, not a search
    model = MODELS[task.model](task)
    skeleton = model.poser.skeleton
    if task.take is not None:
        document = _read_keys(task, skeleton, tell)
    file = task.session or task.out or choose_session_file()
    note = "" if task.session is None else check_session_body(task.session, skeleton)
    if note:
        tell(f"note: {note}")
    session = PosingSession(model, document, lambda changed: write_posing_session(file, changed, skeleton))
    _warm_up_session(session)
    publisher = PosePublisher(lambda: _open_stream(task.settings), compose_posed_skeleton(skeleton))
    publisher.switch(task.publish)
    view = task.settings.viewer
    suffixes = {name: FORMATS[name].suffix for name in list_markerless_formats()}
    options = PageOptions(
        file,
        {name: partial(MODELS[name], task) for name in (task.model, *MODELS)},  # the one that answers first
        wants_dark(view.theme),
        encode_take,
        suffixes,
        publisher,
        partial(_load_known_poses, task),
    )
    if publisher.address:
        tell(f"publishing at {publisher.address}")
    return PreparedPosing(session, options, picture)


def _read_keys(task: PoseTask, skeleton: "Skeleton", tell: Callable[[str], None]) -> "Document":
    """Return a document that begins with the poses of a take. Raises DuocapError."""
    from stream.posing.motion import document_from_take
    from stream.take.read import read_take

    assert task.take is not None
    return document_from_take(read_take(task.take, task.hints, tell), skeleton)


def list_markerless_formats() -> tuple[str, ...]:
    """Return the formats that need no markers."""
    return tuple(name for name in FORMATS if name not in ("markers", "c3d", "trc", "opensim-trc", "mot", "gait2392"))


def encode_take(take: "Take", name: str) -> bytes:
    """Return a take as the bytes of a file of a format. Raises DuocapError."""
    with tempfile.TemporaryDirectory(prefix="duocap-pose-") as folder:
        file = Path(folder) / f"pose{FORMATS[name].suffix}"
        write_take(ExportFile(file, name), take)
        return file.read_bytes()


def export_session(task: PoseTask, out: Sequence[ExportFile], tell: Callable[[str], None]) -> None:
    """Write a session's motion, or without keys its pose, to files.

    Args:
        task: the session and its model.
        out: files to write, each with its format.
        tell: receives progress messages as text.
    Raises: DuocapError.
    """
    from stream.posing.motion import solve_keyframe_motion, take_from_pose
    from stream.posing.session import PosingSession
    from stream.posing.session_file import read_posing_session

    if task.session is None and task.take is None:
        raise DuocapError("--out writes the motion of a session or take; give the session's file, or the take's")
    model = MODELS[task.model](task)
    if task.session is None:
        document: Document = _read_keys(task, model.poser.skeleton, tell)
    else:
        document = read_posing_session(task.session)
    session = PosingSession(model, document)
    if len(document.keys) > 1:
        with open_progress_bar("posing") as show:
            take = solve_keyframe_motion(session.document, session.poser, lambda done, total: show(done, total)).take
    else:
        take = take_from_pose(session.document, session.skeleton)
    write_takes(out, take)
    for wanted in out:
        tell(f"{wanted.file}: {format_count(len(take), 'frame')}, {take.seconds[-1]:.2f} s ({wanted.format})")


def choose_session_file() -> Path:
    """Return a name for a new session in the user's data folder, else in a temporary one."""
    folder = Path(platformdirs.user_data_dir("duocap", appauthor=False)) / "poses"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        folder = Path(tempfile.mkdtemp(prefix="duocap-poses-"))
    stem = time.strftime("pose-%Y%m%d-%H%M%S")
    names = (f"{stem}{SESSION_SUFFIX}", *(f"{stem}-{n}{SESSION_SUFFIX}" for n in range(2, 1000)))
    return next(folder / name for name in names if not (folder / name).exists())


def _warm_up_session(session: "PosingSession") -> None:
    """Pose once, so that the first drag is not the one that waits for kernels to be compiled."""
    from stream.posing.session import PosingSession

    with open_progress_bar("getting ready"):
        other = PosingSession(session.model, replace(session.document, picture=None, image_points={}))
        for lift_m in (0.0, 0.01):
            other.drag("leftHand", other.joints_m()[0] + (0.3, lift_m, 0.2))


def _load_known_poses(task: PoseTask) -> "KnownPoses":
    """Return the poses of the database. Raises DatabaseError."""
    from stream.posing.near import collect_known_poses

    database = open_database_or_default(task.database)
    return collect_known_poses([database.clip(n) for n in range(database.n_clips)])


def _open_stream(settings: Settings) -> "OutputFanout":
    """Open the stream. Raises DuocapError: its address is taken, or needs keys."""
    from stream.publish.fanout import OutputFanout
    from stream.publish.publisher import Publisher

    return OutputFanout(Publisher(settings.stream.address, keys=find_key_settings(settings.stream)), "pose")


def _read_picture_file(file: Path) -> tuple[str, bytes]:
    """Return a picture's name and bytes. Raises DuocapError: there is no such file, or it is no picture."""
    from config.errors import describe_reason
    from stream.posing.picture import decode_picture

    try:
        content = file.read_bytes()
    except OSError as error:
        raise DuocapError(f"{file}: cannot be read ({describe_reason(error)}); give a PNG or a JPEG") from error
    decode_picture(content, str(file))
    return file.name, content
