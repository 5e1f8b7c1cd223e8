"""Edits of the take that is shown: done in a thread, shown beside what was before until they are kept, undone and redone.

Nothing is written until *Save*, and then to a new file; a take is renamed, deleted and brought back as a file.
"""

import logging
import threading
from collections.abc import Callable
from pathlib import Path

from config.errors import DuocapError
from stream.edit.edits import Cut, Edit, OpenDatabase, Trim, apply_edit, describe_edit, split_recording, write_edited
from stream.edit.files import delete_take, find_free_file, name_edited_file, rename_take, restore_take
from stream.edit.history import History
from stream.recording.recording import Recording
from stream.viewer.takes import TakeFeed
from stream.viewer.view import PageActions

log = logging.getLogger(__name__)

BEFORE, AFTER = "before", "after"
UNNOTED = (Trim, Cut)  # edits that leave every pose as it is need no comparison


class TakeEditor:
    """Edits of the first take of a feed; call it from the app's thread.

    Args:
        feed: shows the take.
        take: the file or folder that the user named.
        actions: by which the thread's results come back.
        open_database: opens the motion that poses are solved with.
    Attributes:
        take: where the take is now.
        message: what was done or went wrong last.
    """

    def __init__(self, feed: TakeFeed, take: Path, actions: PageActions, open_database: OpenDatabase | None = None) -> None:
        self._feed, self.take, self._actions, self._open_database = feed, take, actions, open_database
        self._history = History(feed.recordings[0])
        self._others = list(feed.recordings[1:])
        self._pending: tuple[Recording, str] | None = None
        self._saved = feed.recordings[0]
        self._thread: threading.Thread | None = None
        self._deleted: Path | None = None
        self.message = ""

    @property
    def recording(self) -> Recording:
        """The take after the edits that were kept."""
        return self._history.state

    @property
    def busy(self) -> bool:
        """Whether an edit is being made."""
        return self._thread is not None

    @property
    def pending(self) -> bool:
        """Whether an edit is shown beside what was before, to be kept or not."""
        return self._pending is not None

    @property
    def can_undo(self) -> bool:
        """Whether there is an edit to undo."""
        return bool(self._history.before) or self.deleted

    @property
    def saved(self) -> bool:
        """Whether the edits are in a file, or there are none."""
        return self.recording is self._saved

    @property
    def deleted(self) -> bool:
        """Whether the take lies among the deleted ones."""
        return self._deleted is not None

    def edit(self, edit: Edit) -> None:
        """Make an edit; changed poses are shown beside those before, until `keep` or `discard`."""
        if self._thread is not None:
            return
        self.discard()
        before, self.message = self.recording, f"{describe_edit(edit)}: at work"

        def work() -> None:
            try:
                after = apply_edit(before, edit, self._open_database)
                self._actions.put(lambda: self._take(after, edit))
            except DuocapError as error:
                text = str(error)
                self._actions.put(lambda: self._fail(text))
            except Exception as error:  # the page goes on, whatever a take meets
                log.exception("an edit failed")
                text = f"{type(error).__name__}: {error}"
                self._actions.put(lambda: self._fail(text))

        self._thread = threading.Thread(target=work, name="viewer-edit", daemon=True)
        self._thread.start()

    def keep(self) -> None:
        """Keep the edit that is shown."""
        if self._pending is not None:
            (after, words), self._pending = self._pending, None
            self._push(after, words)

    def discard(self) -> None:
        """Go back to before the edit that is shown."""
        if self._pending is not None:
            self._pending = None
            self._show("as before")

    def undo(self) -> None:
        """Bring a deleted take back, or undo the last edit."""
        if self._deleted is not None:
            self._try(self._restore)
        elif self._pending is not None:
            self.discard()
        elif self._thread is None and self._history.undo():
            self._show("undone")

    def redo(self) -> None:
        """Make the last edit that was undone again."""
        if self._thread is None and self._history.redo():
            self._show("made again")

    def save(self, name: str = "") -> None:
        """Write the take to a new recording beside the original; name: of the file, empty: a free one."""

        def write() -> str:
            file = write_edited(self._choose_file(name), self.recording)
            self._saved = self.recording
            return f"saved to {file}; the original is as it was"

        self._try(write)

    def split(self, at_s: float) -> None:
        """Write the parts before and from a time on to two new recordings."""

        def write() -> str:
            files = []
            for part in split_recording(self.recording, at_s):
                files.append(write_edited(find_free_file(self._choose_file("")), part))
            return f"split at {at_s:.2f} s into {files[0].name} and {files[1].name}, in {files[0].parent}"

        self._try(write)

    def rename(self, name: str) -> None:
        """Give the take another name."""

        def move() -> str:
            self.take = rename_take(self.take, name)
            return f"now {self.take}"

        self._try(move)

    def delete(self) -> None:
        """Move the take to the folder of deleted ones; `undo` brings it back."""

        def move() -> str:
            self._deleted = delete_take(self.take)
            return f"moved to {self._deleted}; undo brings it back"

        if self._deleted is None:
            self._try(move)

    def _restore(self) -> str:
        """Bring the deleted take back."""
        assert self._deleted is not None
        self.take, self._deleted = restore_take(self._deleted), None
        return f"brought back: {self.take}"

    def _choose_file(self, name: str) -> Path:
        """Return the file that edits are written to."""
        edited = name_edited_file(self.take)
        if not name:
            return edited
        return edited.with_name(name if name.lower().endswith(edited.suffix) else name + edited.suffix)

    def _take(self, after: Recording, edit: Edit) -> None:
        """Show what an edit made."""
        self._thread, words = None, describe_edit(edit)
        if isinstance(edit, UNNOTED):
            self._push(after, words)
            return
        self._pending, self.message = (after, words), f"{words}: keep it?"
        self._feed.show([after, self.recording], [AFTER, BEFORE])

    def _fail(self, text: str) -> None:
        """Say why an edit could not be made."""
        self._thread, self.message = None, text

    def _push(self, after: Recording, words: str) -> None:
        """Add a step; those that were undone are forgotten."""
        self._history.push(after)
        self._show(words)

    def _show(self, words: str) -> None:
        """Show the take as it is now, and say what was done."""
        self.message = words
        self._feed.show([self.recording, *self._others])

    def _try(self, work: Callable[[], str]) -> None:
        """Do what may be refused, and say what came of it."""
        try:
            self.message = work()
        except DuocapError as error:
            self.message = str(error)
