"""A session apart from its page: each change poses the body again, can be undone, and is saved.

A drag is one change, however many places it passes: the pose follows each, and the last is kept.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from calibration.camera import Camera
from config.arrays import Floats
from config.errors import DuocapError
from config.joints import JOINT_INDEX
from database.geometry.skeleton import Skeleton
from reconstruct.posing.protocol import FoundPose, Poser
from stream.edit.history import History
from stream.posing.document import (
    Document,
    PictureView,
    Point,
    PosingError,
    StoredPose,
    check_joint_name,
    check_point,
    compute_joint_positions_m,
    compute_turned_pose,
    create_document,
    mirror_document,
    move_keys,
    pin_image_point,
    pin_joint,
    release_joint,
    remove_key,
    replace_pose,
    set_key,
    turn_joint,
)
from stream.posing.model import PosingModel
from stream.posing.picture import project_to_picture
from stream.posing.targets import (
    IMAGE_SIGMA,
    MET_M,
    KeptPlaces,
    Unmet,
    bring_to_handles,
    build_pose_constraints,
    collect_kept_places,
    find_unmet_handles,
)

log = logging.getLogger(__name__)

MAX_SETTLING = 8
UNKNOWN = 200.0  # misfit of a pose far from all that the model knows, where cameras are compared
START = "(start)"  # is dragged in place of a joint
Save = Callable[[Document], None]


@dataclass(frozen=True, slots=True)
class SessionState:
    """One state of the history: the document, and the model's answer for its pose; None if there is none yet."""

    document: Document
    found: FoundPose | None = None


class PosingSession:
    """One body that is posed; call it from one thread.

    save: called with the changed state; a fault of it is kept in `save_fault` and never stops the posing.
    """

    def __init__(self, model: PosingModel, document: Document | None = None, save: Save | None = None) -> None:
        self._model, self._save = model, save
        shown = create_document(model.poser.skeleton) if document is None else document
        shares = shown.shares if len(shown.shares) == len(model.styles) and sum(shown.shares) > 0.0 else model.equal_shares
        shown = replace(shown, model=model.name, shares=shares)
        self.poser: Poser = model.with_shares(shares)
        self._history = History(SessionState(shown))
        self._before_drag: SessionState | None = None
        self._kept: KeptPlaces | None = None  # of the pose before the drag
        self._dragged, self._turns = "", False  # whether it is turned, not moved
        self._unsaved = False
        self.save_fault = ""

    @property
    def document(self) -> Document:
        """The document that is shown."""
        return self._history.state.document

    @property
    def found(self) -> FoundPose | None:
        """The model's answer for the pose; None for a pose that it has not found."""
        return self._history.state.found

    @property
    def model(self) -> PosingModel:
        """The model that answers."""
        return self._model

    @property
    def skeleton(self) -> Skeleton:
        """The body."""
        return self.poser.skeleton

    @property
    def dragged(self) -> str:
        """The joint that is dragged, `START` for a point of the latent plane, empty for none."""
        return self._dragged

    @property
    def can_undo(self) -> bool:
        """Whether something can be undone."""
        return bool(self._history.before)

    @property
    def can_redo(self) -> bool:
        """Whether something can be done again."""
        return bool(self._history.after)

    def joints_m(self) -> Floats:
        """Return the joints of the pose, (J, 3) [m]."""
        return compute_joint_positions_m(self.skeleton, self.document.pose)

    def unmet(self) -> dict[str, Unmet]:
        """Return the held joints that are not where they are held."""
        return find_unmet_handles(self.document, self.joints_m())

    def drag(self, joint: str, target_m: ArrayLike) -> None:
        """Have a joint follow a place, (3,) [m]. Raises PosingError: a place that is none."""
        self._follow(joint, lambda document: pin_joint(document, joint, check_point(target_m)))

    def drag_in_picture(self, joint: str, image_px: ArrayLike) -> None:
        """Have a joint follow a point of the picture, (2,) [px]. Raises PosingError."""
        self._follow(joint, lambda document: pin_image_point(document, joint, image_px))

    def turn(self, joint: str, rotvec: ArrayLike) -> None:
        """Have a joint follow an orientation, (3,) world [rad], and what lies beyond it go with it. Raises PosingError."""
        self._follow(joint, lambda document: turn_joint(document, joint, rotvec), rotvec)

    def drag_start(self, start: FoundPose) -> None:
        """Pose from another start, as while a point of a style's latent plane is dragged: this is the pose, with what is held
        brought to where it is held and the latent point kept."""
        if self._dragged != START:
            self.release()
        self.poser = self._model.with_shares(self.document.shares)
        document = replace(self.document, pose=StoredPose(np.array(start.rotvec), np.array(start.root_m)))
        found = bring_to_handles(self.skeleton, document, start)
        document = replace(document, pose=StoredPose(np.array(found.rotvec), np.array(found.root_m)))
        self._show_drag(START, SessionState(document, found))

    def release(self, hold: bool = True) -> None:
        """End the drag; hold: the joint stays held where it was dragged to. The drag is one step of the history."""
        if self._before_drag is None:
            self._dragged, self._kept = "", None
            return
        state, before, joint = self._history.state, self._before_drag, self._dragged
        if not hold:
            was = before.document
            held = replace(state.document, pins=was.pins, image_points=was.image_points, turns=was.turns)
            state = replace(state, document=held)
        else:
            state = self._settled(state)
            state = self._posed_anew(state) if joint != START and self._missed(state) > 0.0 else state
        self._before_drag, self._dragged, self._kept = None, "", None
        self._history.state = before
        self._push(state)

    def pin(self, joint: str) -> None:
        """Hold a joint where it is."""
        at = self.joints_m()[JOINT_INDEX[check_joint_name(joint)]]
        self._change(pin_joint(self.document, joint, at))

    def free(self, joint: str) -> None:
        """Let a joint go; the pose stays until something else moves."""
        self._change(release_joint(self.document, check_joint_name(joint)))

    def free_all(self) -> None:
        """Let all joints go."""
        self._change(replace(self.document, pins={}, image_points={}, turns={}))

    def mirror(self) -> None:
        """Mirror the pose and the held joints left to right."""
        self.release()
        self._push(SessionState(mirror_document(self.document, self.skeleton)))

    def reset(self) -> None:
        """Begin again with the first pose; the keys stay."""
        self.release()
        first = create_document(self.skeleton)
        self._push(SessionState(replace(self.document, pose=first.pose, pins=first.pins, image_points={}, turns={})))

    def undo(self) -> bool:
        """Undo the last change; a drag that is going on ends."""
        self.release()
        return self._moved(self._history.undo())

    def redo(self) -> bool:
        """Redo the last change that was undone."""
        self.release()
        return self._moved(self._history.redo())

    def set_model(self, model: PosingModel) -> None:
        """Ask another model from now on. Raises PosingError: it poses another body."""
        if not np.allclose(model.poser.skeleton.offsets_m, self.skeleton.offsets_m, atol=1e-4):
            raise PosingError(f"model '{model.name}' poses another body; choose models of one skeleton")
        self.release()
        self._model = model
        self._change_posed(replace(self.document, model=model.name, shares=model.equal_shares))

    def set_shares(self, shares: tuple[float, ...]) -> None:
        """Mix the styles in other shares, (S,); all zero: as before."""
        if len(shares) == len(self._model.styles) and sum(shares) > 0.0:
            self.release()
            self._change_posed(replace(self.document, shares=shares), self.found)

    def set_picture(self, picture: PictureView | None) -> None:
        """Pose after a picture from now on, or no longer: what is held is let go, for it was held for another reason.

        A picture for a session that lost its own, of the same size, changes nothing else.
        """
        self.release()
        before = self.document.picture
        if picture is not None and before is not None and before.file is None and picture.size == before.size:
            self._push(replace(self._history.state, document=replace(self.document, picture=replace(before, file=picture.file))))
            return
        self._push(SessionState(replace(self.document, picture=picture, pins={}, image_points={}, turns={})))

    def set_fov(self, fov_deg: float) -> None:
        """Have the picture's camera in front of the body with a field of view [degrees], in place of one solved or chosen."""
        if self.document.picture is not None:
            self.release()
            self._change_posed(replace(self.document, picture=replace(self.document.picture, fov_deg=fov_deg, camera=None)))

    def set_camera(self, camera: Camera, posed: bool) -> None:
        """Have a camera for the picture; posed: the body is posed for it anew, else stays. Raises PosingError: no picture."""
        if self.document.picture is None:
            raise PosingError("there is no picture that a camera is for; load one first")
        self.release()
        changed = replace(self.document, picture=replace(self.document.picture, camera=camera))
        if posed and changed.image_points:
            self._change_posed(changed)
        else:
            self._push(SessionState(changed))

    def set_best_camera(self, cameras: Sequence[Camera]) -> None:
        """Have that camera of several for which the body, posed anew, meets the clicks best and is best known to the model.
        Raises PosingError.
        """
        if self.document.picture is None or not cameras:
            raise PosingError("there is no picture that a camera is for; load one first")
        self.release()
        pictures = [replace(self.document.picture, camera=camera) for camera in cameras]
        self._push(min((self._posed(replace(self.document, picture=each), None) for each in pictures), key=self._misfit))

    def click(self, joint: str, image_px: ArrayLike) -> None:
        """Set where a joint is in the picture and leave the pose as it is. Raises PosingError."""
        self._change(pin_image_point(self.document, joint, image_px))

    def take(self, pose: StoredPose) -> None:
        """Take another pose; held joints are held where that has them."""
        self.release()
        self._push(SessionState(replace_pose(self.document, pose, self.skeleton)))

    def set_key(self, time_s: float) -> None:
        """Keep the pose as a key. Raises PosingError."""
        self._change(set_key(self.document, time_s))

    def delete_key(self, time_s: float) -> None:
        """Remove a key. Raises PosingError."""
        self._change(remove_key(self.document, time_s))

    def move_keys(self, times_s: Sequence[float]) -> None:
        """Move the keys to other times, in their order; nothing where none has moved. Raises PosingError."""
        if tuple(times_s) != tuple(key.time_s for key in self.document.keys):
            self._change(move_keys(self.document, times_s))

    def show(self, pose: StoredPose, pins: dict[str, Point]) -> None:
        """Show a pose of the motion: no step of the history, but where the next one begins."""
        self.release()
        self._history.state = SessionState(replace(self.document, pose=pose, pins=pins, turns={}))

    def open(self, document: Document) -> None:
        """Go on with another document, as a step of the history; its model stays that of this session."""
        self.release()
        shares = document.shares if len(document.shares) == len(self._model.styles) else self.document.shares
        self._push(SessionState(replace(document, model=self._model.name, shares=shares)))

    def save_now(self) -> None:
        """Save unsaved changes, the middle of a drag as well."""
        if not self._unsaved or self._save is None:
            return
        try:
            self._save(self.document)
        except (DuocapError, OSError) as error:
            self.save_fault = str(error)
            log.warning("the session is not saved: %s", error)
        else:
            self._unsaved, self.save_fault = False, ""

    def _settled(self, state: SessionState) -> SessionState:
        """Return the pose that a model reaches which had too few steps for it while the joint was dragged."""
        for _ in range(MAX_SETTLING):
            if state.found is None or state.found.converged:
                break
            state = self._posed(state.document, state.found)
        return state

    def _posed_anew(self, state: SessionState) -> SessionState:
        """Return the pose that is found without the one before, by annealing where a style answers, if it meets the handles
        better: in space by what counts as there, in a picture, whose points are met by poses far apart, at all."""
        misses = [self._missed(state), self._missed(anew := self._posed(state.document, None))]
        return anew if misses[1] < misses[0] - (0.0 if state.document.image_points else MET_M) else state

    def _misfit(self, state: SessionState) -> float:
        """Return how badly a state agrees with its clicks and its model: sum |off / sigma|^2 + UNKNOWN * variance."""
        picture, joint_m = state.document.picture, compute_joint_positions_m(self.skeleton, state.document.pose)
        if picture is None or state.found is None:
            return np.inf
        total = UNKNOWN * state.found.variance
        for name, image_px in state.document.image_points.items():
            seen = project_to_picture(picture, joint_m[JOINT_INDEX[name]])
            total += np.inf if seen is None else float(((seen - image_px) ** 2).sum()) / (IMAGE_SIGMA * max(picture.size)) ** 2
        return total

    def _missed(self, state: SessionState) -> float:
        """Return by how much the handles of a state are missed in all, a picture's pixel as much as 2 mm."""
        joint_m = compute_joint_positions_m(self.skeleton, state.document.pose)
        return sum(each.error_m + 0.002 * each.error_px for each in find_unmet_handles(state.document, joint_m).values())

    def _follow(self, joint: str, change: Callable[[Document], Document], rotvec: ArrayLike | None = None) -> None:
        """Pose for the next place of a drag; one of another joint begins a new drag.

        Args:
            joint: the joint.
            change: holds it where it is dragged to.
            rotvec: orientation that it is turned to, (3,) world [rad]; None where it is moved.
        """
        check_joint_name(joint)
        document = change(self.document)
        if (self._dragged, self._turns) != (joint, rotvec is not None):
            self.release()
        before = self.document.pose if self._before_drag is None else self._before_drag.document.pose
        if rotvec is not None:
            self._kept = collect_kept_places(self.skeleton, compute_turned_pose(self.skeleton, before, joint, rotvec))
        elif self._kept is None:
            self._kept = collect_kept_places(self.skeleton, before)
        self._dragged, self._turns = joint, rotvec is not None
        self._show_drag(joint, self._posed(document, self.found))

    def _show_drag(self, what: str, state: SessionState) -> None:
        """Show the next state of a drag."""
        if self._before_drag is None:
            self._before_drag = self._history.state
        self._dragged = what
        self._history.state = state
        self._unsaved = True

    def _change(self, document: Document) -> None:
        """Do one step of the history that leaves the pose as it is."""
        self.release()
        self._push(replace(self._history.state, document=document))

    def _change_posed(self, document: Document, start: FoundPose | None = None) -> None:
        """Do one step of the history for which the model is asked again."""
        self.release()
        self._push(self._posed(document, start))

    def _push(self, state: SessionState) -> None:
        """Do one step of the history and save it."""
        self._history.push(state)
        self._moved(True)

    def _moved(self, changed: bool) -> bool:
        """Take up the state that is shown; save it if it has changed."""
        if changed:
            self.poser = self._model.with_shares(self.document.shares)
            self._unsaved = True
            self.save_now()
        return changed

    def _posed(self, document: Document, start: FoundPose | None) -> SessionState:
        """Return the pose of a document's handles, in a drag near that before it; start: the model's answer to go on from."""
        self.poser = self._model.with_shares(document.shares)
        if not document.held:
            return SessionState(document, start)
        found = self.poser.pose(build_pose_constraints(document, self._kept, self._dragged), start)
        if not (np.isfinite(found.rotvec).all() and np.isfinite(found.root_m).all()):
            raise PosingError("the model found no pose for these handles; move one, or let some go")
        return SessionState(replace(document, pose=StoredPose(np.array(found.rotvec), np.array(found.root_m))), found)
