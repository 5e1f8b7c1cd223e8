"""The editor of a take: what changes poses is shown beside what was before, kept or not, undone, saved to a new file."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from stream.edit.edits import Cut, Relabel, Smooth, Trim
from stream.recording.recording import open_recording
from stream.viewer.editor import TakeEditor
from stream.viewer.panels.graphs import MARKERS, build_graph_table, compare_at, compare_takes
from stream.viewer.takes import TakeFeed
from stream.viewer.view import PageActions
from tests.support.stream_messages import record
from tests.support.viewer.walking_stream import performance


class Edited:
    """An editor with its feed and file."""

    def __init__(self, file: Path) -> None:
        self.file, self.actions = file, PageActions()
        self.feed = TakeFeed([file])
        self.editor = TakeEditor(self.feed, file, self.actions)

    def wait(self, condition: Callable[[], bool]) -> None:
        deadline = time.monotonic() + 120.0
        while not condition():
            assert time.monotonic() < deadline, self.editor.message
            self.actions.run()
            time.sleep(0.01)

    def edit(self, edit: Trim | Cut | Smooth | Relabel) -> None:
        self.editor.edit(edit)
        self.wait(lambda: not self.editor.busy)


@pytest.fixture
def edited(tmp_path: Path) -> Iterator[Edited]:
    file = tmp_path / "walk.mcap"
    file.write_bytes(record(performance("s1", 2.0)))
    made = Edited(file)
    yield made
    made.feed.close()


def test_edits_are_undone_made_again_and_saved_beside_the_take(edited: Edited) -> None:
    before, editor = edited.file.read_bytes(), edited.editor
    edited.edit(Trim(0.5, 1.5))
    assert edited.feed.poll(0, 0) and edited.feed.span.end_s == pytest.approx(1.0, abs=0.03) and not editor.saved
    edited.edit(Cut(0.2, 0.4))
    editor.undo()
    assert len(editor.recording.poses) == pytest.approx(60, abs=2)
    editor.undo()
    editor.redo()
    editor.save("short")
    saved = open_recording(edited.file.with_name("short.mcap"))
    assert len(saved.poses) == len(editor.recording.poses) and editor.saved
    assert edited.file.read_bytes() == before
    editor.save("short")
    assert "never replaces" in editor.message
    editor.split(0.5)
    assert "walk edited.mcap" in editor.message and "walk edited 2.mcap" in editor.message


def test_changed_poses_are_shown_beside_those_before_until_they_are_kept(edited: Edited) -> None:
    editor, feed = edited.editor, edited.feed
    edited.edit(Smooth(0.2, 0.5, 1.5))
    assert editor.pending and [track.title for track in feed.tracks] == ["after", "before"]
    there = compare_at(feed.tracks[0], feed.tracks[1], 1.0)
    apart = [found.apart_mm.max() for _, found in compare_takes(feed.tracks[0], feed.tracks[1])]
    assert there is not None and len(apart) == 20 and apart[0] == 0.0 and max(apart) > 0.0
    editor.discard()
    assert not editor.pending and len(feed.tracks) == 1 and not editor.can_undo
    edited.edit(Smooth(0.2))
    editor.keep()
    assert editor.can_undo and feed.recordings[0].metadata["edited"].startswith("smoothed over 0.2 s")


def test_what_is_refused_is_said_and_deleting_is_undone(edited: Edited) -> None:
    editor = edited.editor
    edited.edit(Trim(7.0, 8.0))
    assert "nothing is left" in editor.message
    edited.edit(Relabel(0.1, 0.2, "chest", "nobody"))
    assert "no such marker" in editor.message
    editor.rename("run 1")
    assert editor.take.name == "run 1.mcap" and editor.take.exists()
    editor.delete()
    assert editor.deleted and not editor.take.exists()
    editor.undo()
    assert editor.take.exists() and not editor.deleted


def test_graphs_have_angles_and_markers_over_the_take(edited: Edited) -> None:
    table = build_graph_table(edited.feed.recordings[0])
    assert {"knee [deg]", "shoulder [deg]", MARKERS} <= set(table.columns)
    assert (table, "knee") == (table, "knee"), "what a panel showed last is compared"
    lines = table.columns[MARKERS]
    assert set(lines) == {"chest", "left_hand", "left_foot", "right_foot"} and len(lines["chest"]) == len(table.seconds)
