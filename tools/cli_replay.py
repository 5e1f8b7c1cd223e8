"""`duocap replay`: two recorded videos in, or one, full-body motion out."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from config.settings import Settings
from tools.arguments import (
    BACKGROUND,
    DATABASE,
    FPS,
    LEFT,
    MODEL,
    RECORD,
    RIG,
    RIGHT,
    TIMESTAMPS,
    check_folders,
    checked_recording,
    seconds_range,
    with_model,
)
from tools.options import with_settings
from tools.outputs import VMC, vmc_outputs

if TYPE_CHECKING:
    from calibration.subject import Subject
    from stream.export.take import Take

SubjectFile = Annotated[
    Path,
    typer.Option("--subject", metavar="FILE", help="The performer: subject.toml (duocap calibrate subject).", show_default=False),
]
Bvh = Annotated[Path | None, typer.Option(metavar="FILE", help="Write the motion as BVH.", show_default=False)]
Trc = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Write joint centres and markers as TRC [mm].", show_default=False)
]
C3d = Annotated[
    Path | None, typer.Option("--c3d", metavar="FILE", help="Write joint centres and markers as C3D.", show_default=False)
]
Csv = Annotated[Path | None, typer.Option(metavar="FILE", help="Write joint positions as CSV [m].", show_default=False)]
Glb = Annotated[Path | None, typer.Option(metavar="FILE", help="Write a skinned body in motion as GLB.", show_default=False)]
Vrma = Annotated[Path | None, typer.Option(metavar="FILE", help="Write the motion for VRM avatars as VRMA.", show_default=False)]
Report = Annotated[Path | None, typer.Option(metavar="FILE", help="Write the report as JSON.", show_default=False)]
Overlay = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Write a video (AVI) of both views with labels and skeleton.", show_default=False),
]
Hide = Annotated[
    list[str] | None, typer.Option(metavar="MARKER", help="Keep a marker from the solver and score its prediction; repeatable.")
]
Smooth = Annotated[
    float,
    typer.Option("--smooth", metavar="SECONDS", help="Smooth what is exported over a window of this width, such as 0.2; 0: not."),
]
Realtime = Annotated[bool, typer.Option("--realtime", help="Run at the speed of the recording, not as fast as it goes.")]


Camera = Annotated[Literal["left", "right"], typer.Option("--camera", help="Which camera of the rig, if there is one video.")]


@with_settings
def replay(
    settings: Settings,
    left: LEFT,
    rig: RIG,
    subject: SubjectFile,
    right: RIGHT = None,
    camera: Camera = "left",
    database: DATABASE = None,
    background: BACKGROUND = None,
    timestamps: TIMESTAMPS = None,
    fps: FPS = None,
    realtime: Realtime = False,
    bvh: Bvh = None,
    trc: Trc = None,
    c3d: C3d = None,
    csv: Csv = None,
    glb: Glb = None,
    vrma: Vrma = None,
    report: Report = None,
    overlay: Overlay = None,
    hide: Hide = None,
    smooth: Smooth = 0.0,
    model: MODEL = None,
    publish: Annotated[bool, typer.Option(help="Publish the poses on the stream, as if live.")] = True,
    view: Annotated[bool, typer.Option("--view", help="Watch in the browser; goes well with --realtime.")] = False,
    vmc: VMC = None,
    record: RECORD = None,
) -> None:
    """Turn two recorded videos into full-body motion, or one if the performer wears more markers (all_around)."""
    from calibration.rig_toml import CAMERA_TABLES, read_lone_camera, read_rig
    from calibration.subject_toml import read_subject
    from capture.recording import Recording, RecordingSpec
    from stream.export.take import TakeInfo
    from stream.report import replay_report, write_report
    from tools.databases import open_or_default
    from tools.overlay import write_overlay
    from tools.progress import progress_bar
    from tools.replay import replay as run_replay
    from tools.replay_report import report_lines
    from tools.replay_sink import replay_sink
    from tools.replay_smooth import smoothed_result, with_smoothing
    from tools.replay_watch import replay_watch
    from tools.viewer import open_viewer

    check_folders(bvh, trc, c3d, csv, glb, vrma, report, overlay)
    if vmc and not publish:
        raise typer.BadParameter("VMC is sent beside the stream; leave out --no-publish", param_hint="--vmc")
    if record and not publish:
        raise typer.BadParameter("what is recorded is the stream; leave out --no-publish", param_hint="--record")
    outputs, record = vmc_outputs(vmc), checked_recording(record)
    settings = with_smoothing(with_model(settings, model), smooth)
    side = ("left", "right").index(camera)
    cameras = read_lone_camera(rig, CAMERA_TABLES[side]) if right is None else read_rig(rig)
    performer = read_subject(subject)
    poses = open_or_default(database)
    spec = RecordingSpec(left, right, timestamps, fps, seconds_range(background, "--background"), side)
    recording = Recording(spec, settings.detector, performer.markers)
    with open_viewer(settings, partial(typer.echo, err=True), stay=True, wanted=view and publish):
        with (
            replay_sink(settings, performer, cameras, publish, outputs, record) as sink,
            replay_watch(sink, 1 if right is None else 2, settings.stream.preview) as watch,
            progress_bar("replay") as progress,
        ):
            result = run_replay(
                recording,
                cameras,
                performer,
                poses,
                settings,
                hidden=hide or (),
                sink=sink,
                watch=watch,
                realtime=realtime,
                progress=progress,
            )
        summary = replay_report(result.poses, result.wall_s, result.hidden_mm, result.swaps_suspected)
        result = smoothed_result(result, performer, smooth)
        files = {"bvh": bvh, "trc": trc, "c3d": c3d, "csv": csv, "glb": glb, "vrma": vrma}
        take = result.take(performer, TakeInfo(performer.name, source=Path(left).name, floor_known=cameras.floor_known))
        _write_takes(take, performer, {kind: file for kind, file in files.items() if file is not None})
        if overlay is not None:
            with progress_bar("overlay") as progress:
                write_overlay(overlay, recording, cameras, performer, result.poses, result.markers, progress)
        if report is not None:
            write_report(report, summary)
        typer.echo("\n".join(report_lines(summary)))


def _write_takes(take: "Take", performer: "Subject", files: dict[str, Path]) -> None:
    """Write the exports asked for: positions in the rig's own frame, what carries a body upright in any case."""
    from tools.export import Wanted, write_take

    for kind, file in files.items():
        write_take(Wanted(file, kind), take, performer.up)
