"""Options that more than one command has, declared once; how a command takes them: `tools/commands/declaration.py`."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from config.settings import LOCAL_MODELS, Settings
from tools.arguments import parse_seconds_range
from tools.cli import VMC_OPTION
from tools.commands.declaration import InProject

if TYPE_CHECKING:
    from capture.recording.recording import RecordingSpec
    from database.files.retarget import ImportHints
    from tools.style.inputs import PoseInputs

RIG_HELP = "The cameras: rig.toml."
SUBJECT_HELP = "The performer: subject.toml (duocap calibrate subject)."
WHICH_CAMERA = "camera: a number, its name or a part of it (duocap doctor lists them), http:// (MJPEG) or rtsp://"
PLAYED_FILES = "a video file or folder of images, played in real time"
CAMERA_HELP = f"{WHICH_CAMERA}, {PLAYED_FILES}, or `node` for one on another machine (duocap node)."


def check_model_name(name: str | None) -> str | None:
    """Return the name of a local model. Raises typer.BadParameter: there is no such model."""
    if name is not None and name not in LOCAL_MODELS:
        raise typer.BadParameter(f"{name!r}: no such local model; expected one of {', '.join(LOCAL_MODELS)}")
    return name


# What is read.
Views = Annotated[
    list[str],
    typer.Argument(
        metavar="VIEW...",
        help="A video or a folder of images of each camera, one to eight, in the rig's order; or, alone, a session's folder.",
    ),
]
TakeFile = Annotated[
    Path,
    typer.Argument(
        metavar="TAKE", help="A recording (.mcap), a session's folder, or a motion: .bvh, .amc with its .asf, .glb, .gltf, .vrma."
    ),
    InProject("take"),
]
RecordingFile = Annotated[
    Path, typer.Argument(metavar="RECORDING", help="A recording (.mcap), or the folder of a session."), InProject("take")
]
Motions = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="[MOTION...]", help="Motion files (.bvh, .amc, .glb, .vrma), recordings (.mcap), folders of sessions."
    ),
]
Builtin = Annotated[
    list[str] | None, typer.Option(metavar="NAME", help="A built-in motion, such as walk or punches; repeatable.")
]
LearnedDatabase = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Learn from clips of this database."),
    InProject("database", unless=("motions", "builtin")),
]
LearnedClips = Annotated[
    list[str] | None, typer.Option("--clip", metavar="NAME", help="Clips of it, such as 07_01 or 07_*; repeatable.")
]
Rig = Annotated[Path, typer.Option(metavar="FILE", help=RIG_HELP), InProject("rig")]
OptionalRig = Annotated[Path | None, typer.Option(metavar="FILE", help=RIG_HELP), InProject("rig", beside="rig.toml")]
Subject = Annotated[Path, typer.Option(metavar="FILE", help=SUBJECT_HELP), InProject("subject")]
OptionalSubject = Annotated[
    Path | None, typer.Option(metavar="FILE", help=SUBJECT_HELP), InProject("subject", beside="subject.toml")
]
MarkersSubject = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Who wears the markers of a .trc, where they are no usual set: subject.toml.")
]
Database = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="Motion database; default the one of `duocap database get` or `use`, else the built-in motions."
    ),
    InProject("database"),
]
Timestamps = Annotated[Path | None, typer.Option(metavar="FILE", help="CSV with the time of each frame.")]
VideoFps = Annotated[float | None, typer.Option(help="Frames a second, instead of what the videos say.")]
BackgroundSpan = Annotated[str | None, typer.Option(metavar="S:S", help="Seconds without the performer, such as 0:2.")]

# What is done.
Model = Annotated[
    str | None,
    typer.Option(
        metavar="<gaussian|paper>",
        help="How poses are modelled, the same as --set solve.model; paper: as in the paper.",
        callback=check_model_name,
    ),
]
LandmarkModel = Annotated[
    Literal["lite", "full", "heavy", "off"] | None,
    typer.Option("--landmarks", help="Find landmarks of the body in the pictures, the same as --set landmarks.model."),
]
Lag = Annotated[
    float | None,
    typer.Option(
        metavar="SECONDS", min=0.0, max=2.0, help="Publish poses that are so old, such as 0.1, and have seen what came after."
    ),
]
Headless = Annotated[bool, typer.Option("--headless", help="Without the viewer.")]
Browser = Annotated[bool, typer.Option(help="Open the page in the system's browser.")]
GuideBrowser = Annotated[bool, typer.Option(help="With live cameras: guide by a page in the browser.")]
WorkerCount = Annotated[
    int | None,
    typer.Option("--workers", min=1, metavar="N", help="Processes of this machine; default as many as it has room for."),
]
Scheduler = Annotated[
    str, typer.Option("--scheduler", metavar="tcp://HOST:8786", help="Use the workers of a Dask cluster instead.")
]

# What is written.
TakeFiles = Annotated[list[Path], typer.Option(metavar="FILE", help="Write .bvh, .csv, .glb, .vrma or .trc; repeatable.")]
TakeFps = Annotated[float, typer.Option(help="Frames a second of what is written.")]
Retarget = Annotated[
    Path | None, typer.Option("--retarget", metavar="AVATAR", help="Move your own avatar: .vrm, or .glb of a humanoid.")
]
RecordFile = Annotated[Path | None, typer.Option(metavar="FILE", help="Record the stream to a new file, such as walk.mcap.")]
RecordSession = Annotated[
    Path | None,
    typer.Option(
        metavar="NAME",
        help="Record to a new folder: videos, stamps, detections, poses; a NAME that ends in .mcap: the stream only.",
    ),
]
ModelName = Annotated[str | None, typer.Option(help="What it is called; default as the file.")]
VERDICT_HELP = "Where to draw the verdict; default beside the result."
VerdictPicture = Annotated[Path | None, typer.Option(metavar="FILE", help=VERDICT_HELP)]
NoPicture = Annotated[bool, typer.Option("--no-picture", help="Draw nothing.")]
Vmc = Annotated[
    list[str] | None,
    typer.Option(
        VMC_OPTION,
        metavar="[APP|HOST:PORT]",
        help="Send VMC as well, by default to 127.0.0.1:39539; APP: vseeface, evmc4u, vmc4ue, warudo, godot, also as "
        "APP@HOST:PORT; repeatable.",
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class VideoOptions:
    """The times of the frames of videos, and of their background."""

    timestamps: Timestamps = None
    fps: VideoFps = None
    background: BackgroundSpan = None

    def create_spec(self, views: Sequence[str]) -> "RecordingSpec":
        """Return the description of the recording. Raises typer.BadParameter: --background is no span of time."""
        from capture.recording.recording import RecordingSpec

        return RecordingSpec(tuple(views), self.timestamps, self.fps, self.background_s)

    @property
    def background_s(self) -> tuple[float, float] | None:
        """When the room is empty [s]. Raises typer.BadParameter: --background is no span of time."""
        return parse_seconds_range(self.background, "--background")


@dataclass(frozen=True, slots=True, kw_only=True)
class CameraOptions:
    """The live cameras of a run."""

    camera: Annotated[
        list[str] | None,
        typer.Option(metavar="CAM", help=f"A {CAMERA_HELP} Once for each camera of the rig, in its order."),
        InProject("cameras", unless=("left", "right")),
    ] = None
    left: Annotated[str | None, typer.Option(metavar="CAM", help="The first camera, as --camera.")] = None
    right: Annotated[str | None, typer.Option(metavar="CAM", help="The second camera, likewise.")] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StyleOptions:
    """The style that a run begins with, and where the last one it learned is kept."""

    style: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Begin with this style (duocap style train, --save-style).")
    ] = None
    save_style: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Keep the last style that is learned, in FILE.style.")
    ] = None
    no_style: Annotated[
        bool,
        typer.Option("--no-style", help="Learn no style of the motion and use none, the same as --set fill.style=false."),
    ] = False


Person = Annotated[
    str | None, typer.Option(metavar="NAME", help="Whose markers, where several people's are in a file: the name before labels.")
]


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportOptions:
    """What the user says of a motion file, in place of what is found in it."""

    unit: Annotated[
        Literal["m", "cm", "mm", "in", "cmu"] | None,
        typer.Option(help="Unit of a motion file.", show_default="by the body's height"),
    ] = None
    up: Annotated[
        Literal["x", "y", "z", "-x", "-y", "-z"] | None,
        typer.Option(help="Axis that points up in a motion file.", show_default="by how the body stands"),
    ] = None
    rate: Annotated[float | None, typer.Option(min=1.0, max=2000.0, metavar="HZ", help="Frames a second of a motion file.")] = (
        None
    )
    names: Annotated[
        Path | None, typer.Option(metavar="FILE.toml", help='Which joint is which in a motion file: hips = "Bone01", ...')
    ] = None

    person: Person = None

    def read_hints(self) -> "ImportHints":
        """Return what the reader of motion files takes. Raises FileFormatError: the file of names."""
        from config.files import read_toml
        from database.files.names import check_names_given
        from database.files.retarget import ImportHints

        names = {} if self.names is None else check_names_given(str(self.names), read_toml(self.names))
        return ImportHints(self.unit or "", self.up or "", self.rate or 0.0, names, self.person or "")


@dataclass(frozen=True, slots=True, kw_only=True)
class BrowserPageOptions:
    """A page in the browser."""

    port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="Of the page; the next free one if taken.", show_default="8080")
    ] = None
    host: Annotated[
        str | None,
        typer.Option(help="Address to serve the page at; 0.0.0.0: for other machines, too.", show_default="127.0.0.1"),
    ] = None
    browser: Browser = True
    theme: Annotated[Literal["dark", "light", "auto"] | None, typer.Option(help="Colours of the page.", show_default="auto")] = (
        None
    )

    def change_settings(self, settings: Settings) -> Settings:
        """Return the settings with the options of the page in place of theirs."""
        asked = {"port": self.port, "host": self.host, "theme": self.theme}
        changes: Any = {key: value for key, value in asked.items() if value is not None}
        return replace(settings, viewer=replace(settings.viewer, **changes))


@dataclass(frozen=True, slots=True, kw_only=True)
class PoseInputOptions:
    """Constraints on a pose or a motion: files of constraints, or curves to follow."""

    constraints: Annotated[
        Path | None, typer.Option(metavar="FILE", help="What is asked of the pose: a TOML as in docs/style-pose.md.")
    ] = None
    rig: Annotated[Path | None, typer.Option(metavar="FILE", help="The cameras that image points are in: rig.toml.")] = None
    skeleton: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Pose this body instead of the one learned: subject.toml.")
    ] = None
    trajectory: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Follow joints of a motion: BVH, or AMC with its ASF.")
    ] = None
    joints: Annotated[
        str | None, typer.Option(metavar="A,B", help="Which joints of it, such as leftHand,leftFoot,rightFoot.")
    ] = None
    fps: TakeFps = 30.0

    def create_inputs(self, out: Sequence[Path]) -> "PoseInputs":
        """Return what is asked of the pose, to be written to files. Raises DuocapError: nothing, or what does not go together."""
        from tools.style.inputs import PoseInputs, check_pose_inputs

        inputs = PoseInputs(self.constraints, self.rig, self.trajectory, self.joints, self.fps)
        check_pose_inputs(inputs, out)
        return inputs
