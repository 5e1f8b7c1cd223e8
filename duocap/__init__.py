"""duocap from Python: what a script needs, from wherever it lies; each name is imported when it is first used.

In: files of recordings, cameras, performers and motions. Out: rigs, subjects, takes and files. docs/python.md shows how.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from calibration.board.pattern import board_from_text as read_board
    from calibration.formats.rig_file import read_rig as read_rig
    from calibration.subject.subject import read_subject as read_subject
    from capture.recording.recording import RecordingSpec as RecordingSpec
    from config.errors import DuocapError as DuocapError
    from config.loading import load_settings as load_settings
    from config.markers import read_marker_set as read_marker_set
    from database.store import open_database as open_database
    from reconstruct.posing.local import LocalPoser as LocalPoser
    from reconstruct.posing.protocol import complete_pose as complete_pose
    from stream.posing.near import find_nearest_poses as find_nearest_poses
    from stream.publish.subscriber import subscribe as subscribe
    from stream.take.read import read_take as read_take
    from stream.take.take import Take as Take
    from stream.take.take import cut_take as cut_take
    from tools.calibrate.board.sources import BoardSpec as BoardSpec
    from tools.calibrate.rig import RigTask as RigTask
    from tools.calibrate.rig import calibrate_rig as calibrate_rig
    from tools.calibrate.session import PerformerPrior as PerformerPrior
    from tools.calibrate.subject import SubjectTask as SubjectTask
    from tools.calibrate.subject import TakeSource as TakeSource
    from tools.calibrate.subject import TakeWindow as TakeWindow
    from tools.calibrate.subject import calibrate_subject as calibrate_subject
    from tools.database.installed import open_default as open_default_database
    from tools.export import export_take as export_take
    from tools.physics.clean import clean_take as clean_take
    from tools.replay.take import ReplayFiles as ReplayFiles
    from tools.replay.take import replay as replay
    from tools.sparse.denoise import denoise_take as denoise_take

PLACES = {  # of each name: its module, and what it is called there
    "BoardSpec": "tools.calibrate.board.sources:BoardSpec",
    "DuocapError": "config.errors:DuocapError",
    "LocalPoser": "reconstruct.posing.local:LocalPoser",
    "PerformerPrior": "tools.calibrate.session:PerformerPrior",
    "RecordingSpec": "capture.recording.recording:RecordingSpec",
    "ReplayFiles": "tools.replay.take:ReplayFiles",
    "RigTask": "tools.calibrate.rig:RigTask",
    "SubjectTask": "tools.calibrate.subject:SubjectTask",
    "Take": "stream.take.take:Take",
    "TakeSource": "tools.calibrate.subject:TakeSource",
    "TakeWindow": "tools.calibrate.subject:TakeWindow",
    "calibrate_rig": "tools.calibrate.rig:calibrate_rig",
    "calibrate_subject": "tools.calibrate.subject:calibrate_subject",
    "clean_take": "tools.physics.clean:clean_take",
    "complete_pose": "reconstruct.posing.protocol:complete_pose",
    "cut_take": "stream.take.take:cut_take",
    "denoise_take": "tools.sparse.denoise:denoise_take",
    "export_take": "tools.export:export_take",
    "find_nearest_poses": "stream.posing.near:find_nearest_poses",
    "load_settings": "config.loading:load_settings",
    "open_database": "database.store:open_database",
    "open_default_database": "tools.database.installed:open_default",
    "read_board": "calibration.board.pattern:board_from_text",
    "read_marker_set": "config.markers:read_marker_set",
    "read_rig": "calibration.formats.rig_file:read_rig",
    "read_subject": "calibration.subject.subject:read_subject",
    "read_take": "stream.take.read:read_take",
    "replay": "tools.replay.take:replay",
    "subscribe": "stream.publish.subscriber:subscribe",
}
__all__ = [
    "BoardSpec",
    "DuocapError",
    "LocalPoser",
    "PerformerPrior",
    "RecordingSpec",
    "ReplayFiles",
    "RigTask",
    "SubjectTask",
    "Take",
    "TakeSource",
    "TakeWindow",
    "calibrate_rig",
    "calibrate_subject",
    "clean_take",
    "complete_pose",
    "cut_take",
    "denoise_take",
    "export_take",
    "find_nearest_poses",
    "load_settings",
    "open_database",
    "open_default_database",
    "read_board",
    "read_marker_set",
    "read_rig",
    "read_subject",
    "read_take",
    "replay",
    "subscribe",
]


def __getattr__(name: str) -> Any:
    """Import a name from where it lies (PEP 562)."""
    if name not in PLACES:
        raise AttributeError(f"module 'duocap' has no attribute {name!r}; it has {', '.join(__all__)}")
    module, _, attribute = PLACES[name].partition(":")
    found = getattr(import_module(module), attribute)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return __all__
