"""Joint angles and distances of markers from the body, over the time line of a take; two takes: how far they are apart."""

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

import numpy as np
import viser

from config.arrays import Floats
from config.errors import DuocapError
from database.geometry.joint_angles import compute_joint_angles
from reconstruct.pose import TrackingState
from stream.edit.motion import EditedPoses, read_poses
from stream.protocol.joints import compute_pose_joints
from stream.protocol.messages import PoseMessage, SkeletonMessage
from stream.recording.recording import Recording
from stream.viewer.html import format_take_square, wrap_in_box
from stream.viewer.panels.charts import HUES, LineChart
from stream.viewer.takes import TakeFeed
from stream.viewer.track import ViewerTrack
from stream.viewer.view import AppSnapshot
from stream.web.widgets import set_html, set_values

MOST_POSES = 600  # of a graph: more than its pixels
MARKERS = "markers: distance from the body [mm]"
WORST = 8  # markers that are drawn, those farthest from the body
STEP_S = 0.1  # between the times that two takes are compared at
AT_ONCE = 20  # times of two takes that are compared in one update
LISTED = 5  # joints that are farthest apart


@dataclass(frozen=True, slots=True, eq=False)
class GraphTable:
    """Lines over a take's time.

    Attributes:
        seconds: (N,).
        columns: values by name of the line, (N,) each, by group.
    """

    seconds: Floats
    columns: dict[str, dict[str, Floats]]


def build_graph_table(recording: Recording) -> GraphTable:
    """Return the joint angles [deg] and marker distances [mm] of a recording, of some of its poses where it has many."""
    found = read_poses(recording, step=max(len(recording.poses) // MOST_POSES, 1))
    if not len(found.seconds):
        return GraphTable(np.zeros(0), {})
    lost = np.array([pose.state is TrackingState.LOST for pose in found.poses])
    rotvec = np.stack([pose.rotvec for pose in found.poses])
    angles = compute_joint_angles(found.subject.skeleton, rotvec, known=~lost)
    columns: dict[str, dict[str, Floats]] = {}
    for name, values in zip(angles.names, np.degrees(angles.angle_rad).T, strict=True):
        group = f"{name.partition('_')[0]} [deg]"
        columns.setdefault(group, {})[name.partition("_")[2].replace("_", " ")] = np.where(lost, np.nan, values)
    markers = _collect_marker_distances(found)
    return GraphTable(found.seconds, columns | ({MARKERS: markers} if markers else {}))


def _collect_marker_distances(found: EditedPoses) -> dict[str, Floats]:
    """Return the distances of the markers that are farthest from the body [mm]; NaN where a marker was not measured."""
    names = found.skeleton.markers
    measured = np.array([pose.measured for pose in found.poses]).reshape(len(found.poses), -1)
    if not names or not measured.any():
        return {}
    residual_mm = np.where(measured, 1e3 * np.array([pose.residual_m for pose in found.poses]), np.nan)
    seen = np.flatnonzero(measured.any(axis=0))
    far = np.nanpercentile(residual_mm[:, seen], 95, axis=0)
    return {names[m]: residual_mm[:, m] for m in seen[np.argsort(-far)][:WORST].tolist()}


class GraphsPanel:
    """One group of lines at a time, with their values at the cursor."""

    period_s = 0.4

    def __init__(self, feed: TakeFeed) -> None:
        self._feed = feed
        self._recording: Recording | None = None
        self._table: GraphTable | None = None
        self._shown: tuple[object, str, int] | None = None

    def build(self, gui: viser.GuiApi) -> None:
        """Create the widgets."""
        self._group = gui.add_dropdown("Of", ("knee [deg]",), hint="Joint by joint, or the markers")
        self._values = gui.add_html("")
        self._chart = LineChart("", height_px=260, marked=True)
        self._chart.build(gui)

    def update(self, view: AppSnapshot) -> None:
        """Show the group that is chosen; another take's lines are computed in a thread."""
        recording = self._feed.recordings[0]
        if recording is not self._recording:
            self._recording, self._table = recording, None
            threading.Thread(target=self._compute, args=(recording,), name="viewer-graphs", daemon=True).start()
        table = self._table
        if table is None:
            set_html(self._values, wrap_in_box('<div class="dim">Being computed.</div>'))
            return
        if self._group.options != tuple(table.columns):
            if not table.columns:
                set_html(self._values, wrap_in_box('<div class="dim">This take has no poses of which graphs are drawn.</div>'))
                return
            chosen = self._group.value if self._group.value in table.columns else next(iter(table.columns))
            set_values(self._group, options=tuple(table.columns))
            set_values(self._group, value=chosen)
        group = str(self._group.value)
        at = min(max(int(np.searchsorted(table.seconds, view.cursor_s + 1e-6)) - 1, 0), len(table.seconds) - 1)
        if self._shown != (table, group, at):
            self._shown = (table, group, at)
            columns = table.columns[group]
            self._chart.draw(table.seconds, columns, at)
            set_html(self._values, format_values_html({name: float(values[at]) for name, values in columns.items()}))

    def _compute(self, recording: Recording) -> None:
        """Compute the lines of a recording; the body of a thread."""
        try:
            table = build_graph_table(recording)
        except DuocapError:
            table = GraphTable(np.zeros(0), {})
        if recording is self._recording:
            self._table = table


def format_values_html(values: dict[str, float]) -> str:
    """Return the values of lines at the cursor as a table, with the lines' colours."""
    rows = "".join(
        f'<tr><td><span style="color:{HUES[n % len(HUES)]}">&#9632;</span> {escape(name)}</td>'
        f"<td>{'' if np.isnan(value) else f'{value:.1f}'}</td></tr>"
        for n, (name, value) in enumerate(values.items())
    )
    return wrap_in_box(f"<table><tr><th>at the cursor</th><th></th></tr>{rows}</table>")


@dataclass(frozen=True, slots=True)
class TakeDifference:
    """Two poses of one time.

    Attributes:
        names: joints that both have, (J,).
        apart_mm: distances between them in the world, (J,).
        posture_mm: the same with the hips laid on each other, position and orientation, (J,).
    """

    names: tuple[str, ...]
    apart_mm: Floats
    posture_mm: Floats


def compare_poses(first: tuple[SkeletonMessage, PoseMessage], second: tuple[SkeletonMessage, PoseMessage]) -> TakeDifference:
    """Return how far the joints of two poses are apart."""
    names = tuple(name for name in first[0].names if name in second[0].names)
    joints = [compute_pose_joints(*one) for one in (first, second)]
    rows = [[one[0].names.index(name) for name in names] for one in (first, second)]
    here, there = (found.position_m[row] for found, row in zip(joints, rows, strict=True))
    local = [(found.position_m[row] - found.position_m[0]) @ found.rotation[0] for found, row in zip(joints, rows, strict=True)]
    return TakeDifference(names, 1e3 * np.linalg.norm(here - there, axis=1), 1e3 * np.linalg.norm(local[0] - local[1], axis=1))


def compare_at(first: ViewerTrack, second: ViewerTrack, t_s: float) -> TakeDifference | None:
    """Return how far two takes are apart at a time; None where one has no pose."""
    poses = first.pose_at(t_s), second.pose_at(t_s)
    if poses[0] is None or poses[1] is None or first.skeleton is None or second.skeleton is None:
        return None
    return compare_poses((first.skeleton, poses[0]), (second.skeleton, poses[1]))


def compare_takes(first: ViewerTrack, second: ViewerTrack) -> Iterator[tuple[float, TakeDifference]]:
    """Return the differences of two takes every STEP_S, from their beginning to the end of the shorter one."""
    for t_s in np.arange(0.0, min(first.history.end_s, second.history.end_s) + 1e-6, STEP_S).tolist():
        found = compare_at(first, second, t_s)
        if found is not None:
            yield t_s, found


class ComparePanel:
    """How far the two takes that are shown are apart: now, and over both."""

    period_s = 0.25

    def __init__(self) -> None:
        self._tracks: tuple[ViewerTrack, ...] = ()
        self._work: Iterator[tuple[float, TakeDifference]] | None = None
        self._seconds: list[float] = []
        self._mean_mm: list[tuple[float, float]] = []

    def build(self, gui: viser.GuiApi) -> None:
        """Create the widgets."""
        self._text = gui.add_html("")
        self._chart = LineChart("Joints apart, mean [mm]")
        self._chart.build(gui)

    def update(self, view: AppSnapshot) -> None:
        """Compare the poses of the cursor, and a little more of the takes."""
        tracks = tuple(view.tracks[:2])
        if len(tracks) < 2:
            self._tracks = ()
            set_html(self._text, wrap_in_box('<div class="dim">One take is shown. Two are compared: duocap view ONE TWO.</div>'))
            return
        if any(one is not other for one, other in zip(tracks, self._tracks, strict=False)) or not self._tracks:
            self._tracks, self._work = tracks, compare_takes(*tracks)
            self._seconds, self._mean_mm = [], []
        self._go_on()
        now = compare_at(tracks[0], tracks[1], view.cursor_s)
        set_html(self._text, format_difference_html(view, now, self._mean_mm))

    def _go_on(self) -> None:
        """Compare a few more times; draw once all are there."""
        if self._work is None:
            return
        for _ in range(AT_ONCE):
            found = next(self._work, None)
            if found is None:
                self._work = None
                world, posture = np.array(self._mean_mm).reshape(-1, 2).T
                self._chart.draw(np.array(self._seconds), {"in the world": world, "hips laid on each other": posture})
                return
            self._seconds.append(found[0])
            self._mean_mm.append((float(found[1].apart_mm.mean()), float(found[1].posture_mm.mean())))


def format_difference_html(view: AppSnapshot, now: TakeDifference | None, mean_mm: Sequence[tuple[float, float]]) -> str:
    """Return which take has which colour, how far they are apart now, by joint, and over the part that is compared."""
    legend = "".join(f"<div>{format_take_square(view, n)}{escape(track.title)}</div>" for n, track in enumerate(view.tracks))
    if now is None:
        return wrap_in_box(f'{legend}<div class="dim">One of them has no pose here.</div>')

    def row(name: str, world_mm: float, posture_mm: float) -> str:
        return f"<tr><td>{escape(name)}</td><td>{world_mm:.1f}</td><td>{posture_mm:.1f}</td></tr>"

    farthest = np.argsort(-now.apart_mm)[:LISTED].tolist()
    rows = [row("all joints, mean", float(now.apart_mm.mean()), float(now.posture_mm.mean()))]
    rows += [row(now.names[j], float(now.apart_mm[j]), float(now.posture_mm[j])) for j in farthest]
    every = np.array(mean_mm).reshape(-1, 2)
    if len(every):
        rows += [row("whole takes, mean", *every.mean(axis=0).tolist()), row("whole takes, most", *every.max(axis=0).tolist())]
    return wrap_in_box(f"{legend}<table><tr><th>apart [mm]</th><th>world</th><th>posture</th></tr>{''.join(rows)}</table>")
