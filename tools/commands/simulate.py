"""`duocap simulate`: a motion as videos, to try a set-up before buying it."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from config.errors import SettingsError
from config.settings import Settings
from config.words import format_count
from tools.commands.declaration import add_settings_options


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulateOptions:
    """Options of `duocap simulate`."""

    motion: Annotated[
        str, typer.Argument(help="A BVH or AMC file, or a built-in motion: walk, run, jump, punches, squat and more.")
    ]
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder for the videos and the truth.")]
    markers: Annotated[
        str, typer.Option(metavar="SET", help="A markers.toml, or locomotion, boxing, kendo, dark_room, all_around, none.")
    ] = "locomotion"
    rig: Annotated[Path | None, typer.Option(metavar="FILE", help="Use the cameras of a rig.toml instead of placing some.")] = (
        None
    )
    views: Annotated[
        int,
        typer.Option(min=1, max=8, help="Cameras to place: two in front, the third at the performer's left, the fourth behind."),
    ] = 2
    look: Annotated[
        str,
        typer.Option(
            metavar="LOOK",
            help="dark (retro-reflectors), lit (coloured markers), or person: lit, with face and hands, for landmarks.",
        ),
    ] = "dark"
    size: Annotated[str, typer.Option(metavar="WxH", help="Image size of placed cameras [px].")] = "640x480"
    fps: Annotated[float, typer.Option(help="Frames a second.")] = 60.0
    distance: Annotated[
        float, typer.Option(help="From the cameras to the middle of the motion [m]; 0: each as near as shows all.")
    ] = 0.0
    baseline: Annotated[float, typer.Option(help="From the first placed camera to the second [m].")] = 1.0
    height: Annotated[float, typer.Option(help="Height of the placed cameras above the floor [m].")] = 1.2
    fov: Annotated[float, typer.Option(help="Horizontal field of view of placed cameras [degrees].")] = 60.0
    turn: Annotated[float, typer.Option(help="Turn the performer to the left [degrees]; 0 faces the cameras.")] = 0.0
    noise: Annotated[float, typer.Option(help="Sensor noise [grey levels].")] = 1.5
    blur: Annotated[float, typer.Option(help="Lens blur, standard deviation [px].")] = 0.5
    exposure: Annotated[float, typer.Option(help="Time the shutter is open [ms]; gives motion blur.")] = 4.0
    gain: Annotated[float, typer.Option(help="Brightness of the image; 1 is right.")] = 1.0
    pixel_noise: Annotated[float, typer.Option(help="Error of each marker's centre, standard deviation [px].")] = 0.0
    marker_mm: Annotated[float, typer.Option(help="Diameter of the markers [mm].")] = 25.0
    placement_mm: Annotated[float, typer.Option(help="How far from their nominal places markers are worn [mm].")] = 8.0
    reflections: Annotated[int, typer.Option(help="Bright spots that are no markers, in each view.")] = 0
    occlude: Annotated[float, typer.Option(help="Share of the markers hidden on purpose, others every half second.")] = 0.0
    occlude_each: Annotated[bool, typer.Option("--occlude-each", help="Hide others from each camera, not the same from all.")] = (
        False
    )
    skew_ms: Annotated[float, typer.Option(help="How much later the second camera looks; others between [ms].")] = 0.0
    jitter_ms: Annotated[float, typer.Option(help="Irregularity of all shutters [ms].")] = 0.0
    drift_ppm: Annotated[float, typer.Option(help="How much slower the second camera's clock runs.")] = 0.0
    drop: Annotated[float, typer.Option(help="Share of frames each camera loses.")] = 0.0
    start: Annotated[float, typer.Option(help="Where in the motion to begin [s].")] = 0.0
    seconds: Annotated[float, typer.Option(help="How much of the motion to take [s]; 0: all.")] = 0.0
    tpose: Annotated[float, typer.Option(help="Time in the T-pose before the motion [s].")] = 3.0
    empty: Annotated[float | None, typer.Option(help="Time the room is empty at first [s]; default 1 if lit, else 0.")] = None
    seed: Annotated[int, typer.Option(help="Another number, other noise, faults and marker places.")] = 0
    codec: Annotated[str, typer.Option(metavar="CODEC", help="mjpg, or ffv1 (lossless).")] = "mjpg"


@add_settings_options
def simulate(settings: Settings, options: SimulateOptions) -> None:
    """Render a motion as two videos or more with markers, time stamps, rig.toml, markers.toml and the truth."""
    from capture.sources.simulated.scene import SimulatedScene
    from tools.progress import open_progress_bar
    from tools.simulate import simulate_recording

    width_px, height_px = _size(options.size)
    scene = SimulatedScene(
        motion=options.motion,
        markers=options.markers,
        rig="" if options.rig is None else str(options.rig),
        views=options.views,
        distance_m=options.distance,
        baseline_m=options.baseline,
        camera_height_m=options.height,
        fov_deg=options.fov,
        width_px=width_px,
        height_px=height_px,
        look=options.look,
        fps=options.fps,
        start_s=options.start,
        seconds=options.seconds,
        empty_s=(1.0 if options.look != "dark" else 0.0) if options.empty is None else options.empty,
        tpose_s=options.tpose,
        turn_deg=options.turn,
        marker_mm=options.marker_mm,
        placement_mm=options.placement_mm,
        noise=options.noise,
        gain=options.gain,
        blur_px=options.blur,
        exposure_ms=options.exposure,
        pixel_noise_px=options.pixel_noise,
        occlude=options.occlude,
        occlude_each=options.occlude_each,
        reflections=options.reflections,
        skew_ms=options.skew_ms,
        jitter_ms=options.jitter_ms,
        drift_ppm=options.drift_ppm,
        drop=options.drop,
        seed=options.seed,
    )
    with open_progress_bar("rendering") as progress:
        result = simulate_recording(scene, options.out, options.codec, progress)
    performer = result.performer
    cameras, apart_m = len(performer.rig), performer.rig.baseline_m
    apart = f"cameras up to {apart_m:.2f} m apart, " if cameras > 1 else ""
    typer.echo(
        f"{options.out}: {format_count(result.n_frames, 'frame')} of {format_count(cameras, 'camera')}; {apart}"
        f"{performer.distance_m:.2f} m from the middle of the motion"
    )
    if options.tpose > 0.0:
        typer.echo(f"T-pose from {result.tpose_s[0]:g} to {result.tpose_s[1]:g} s")


def _size(text: str) -> tuple[int, int]:
    """Return width and height from `640x480`. Raises SettingsError: something else."""
    parts = text.lower().split("x")
    if len(parts) != 2 or not all(part.isdecimal() for part in parts):
        raise SettingsError(f"--size {text!r} is not a size; write width x height, such as 640x480")
    return int(parts[0]), int(parts[1])
