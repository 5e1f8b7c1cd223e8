"""One body in the 3D scene: mesh, bones, joints, markers, names, trails, contacts and forces, each switched on and off.

Everything that moves is few objects, so that a frame costs few messages; what is off costs none.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Protocol

import viser

from database.files.avatar import Avatar
from stream.protocol.joints import Joints, compute_pose_joints
from stream.protocol.messages import PoseMessage, SkeletonMessage
from stream.viewer.scene.avatar import AvatarBody
from stream.viewer.scene.body import SkinnedBody
from stream.viewer.scene.bones import BoneParts, JointParts
from stream.viewer.scene.colors import BODY, Color, GroundColors
from stream.viewer.scene.forces import ForceArrows
from stream.viewer.scene.markers import Contacts, Labels, MarkerParts
from stream.viewer.scene.trails import Trails

Atomic = Callable[[], AbstractContextManager[None]]  # the server's `atomic`: messages sent within it arrive as one


@dataclass(frozen=True, slots=True)
class StageOptions:
    """Which parts of a body are shown; color: of a tracked body; offset_x_m: to the side, to compare two takes."""

    body: bool = True
    bones: bool = False
    joints: bool = False
    markers: bool = True
    labels: bool = False
    trails: bool = True
    contacts: bool = True
    forces: bool = True
    color: Color = BODY
    opacity: float = 1.0
    offset_x_m: float = 0.0


class BodyPart(Protocol):
    """A part of a body that can be shown."""

    on: bool

    def show(self, pose: PoseMessage, joints: Joints) -> None:
        """Move it to a pose."""

    def remove(self) -> None:
        """Remove it from the scene."""


class Stage:
    """One body below the scene node `prefix`; call it from one thread.

    Args:
        skeleton: poses of another skeleton are ignored.
        atomic: the server's `atomic`, so that a frame arrives as one.
        avatar: a user's own body in place of one of the skeleton's proportions.
        marker_clicked: called with the name of a marker that is clicked; None: they cannot be.
    """

    def __init__(
        self,
        scene: viser.SceneApi,
        prefix: str,
        skeleton: SkeletonMessage,
        options: StageOptions | None = None,
        atomic: Atomic = nullcontext,
        avatar: Avatar | None = None,
        marker_clicked: Callable[[str], None] | None = None,
    ) -> None:
        self.skeleton = skeleton
        self._atomic = atomic
        self._options = options or StageOptions()
        self._pose: PoseMessage | None = None
        with atomic():
            self._root = scene.add_frame(prefix, show_axes=False, visible=False)
            own = AvatarBody(scene, f"{prefix}/body", skeleton, avatar) if avatar is not None else None
            self._body = own or SkinnedBody(scene, f"{prefix}/body", skeleton)
            self.trails = Trails(scene, f"{prefix}/trails", skeleton)
            self._bones = BoneParts(scene, f"{prefix}/bones", skeleton)
            self._contacts = Contacts(scene, f"{prefix}/contacts", skeleton)
            markers = MarkerParts(scene, f"{prefix}/markers", skeleton)
            if marker_clicked is not None:
                markers.on_click(marker_clicked)
            self._forces = ForceArrows(scene, f"{prefix}/forces", skeleton)
            self._parts: dict[str, BodyPart] = {
                "body": self._body,
                "bones": self._bones,
                "joints": JointParts(scene, f"{prefix}/joints", skeleton),
                "markers": markers,
                "labels": Labels(scene, f"{prefix}/labels", skeleton),
                "trails": self.trails,
                "contacts": self._contacts,
                "forces": self._forces,
            }
            self._apply()

    @property
    def options(self) -> StageOptions:
        """The options in use; assign a changed copy (dataclasses.replace)."""
        return self._options

    @options.setter
    def options(self, options: StageOptions) -> None:
        if options != self._options:
            self._options = options
            with self._atomic():
                self._apply()

    def show(self, pose: PoseMessage | None) -> None:
        """Move the body to a pose; None hides it until the next."""
        if pose is not None and pose.hash != self.skeleton.hash:
            return
        with self._atomic():
            if pose is None:
                self.trails.clear()
            else:
                joints = compute_pose_joints(self.skeleton, pose)
                for part in self._parts.values():
                    if part.on or part is self.trails:
                        part.show(pose, joints)
            self._root.visible = pose is not None
        self._pose = pose

    def set_ground(self, ground: GroundColors) -> None:
        """Set the colours that are readable on a floor."""
        with self._atomic():
            self._bones.set_ground(ground)
            self._forces.set_ground(ground)
            self.trails.set_ground(ground)
            self.trails.draw()

    def remove(self) -> None:
        """Remove everything from the scene."""
        with self._atomic():
            for part in self._parts.values():
                part.remove()
            self._root.remove()

    def _apply(self) -> None:
        """Apply the options; what is switched on is moved to the last pose."""
        options = self._options
        self._root.position = (options.offset_x_m, 0.0, 0.0)
        self._body.paint(options.color, options.opacity)
        joints = compute_pose_joints(self.skeleton, self._pose) if self._pose is not None else None
        for name, part in self._parts.items():
            wanted = bool(getattr(options, name))
            if wanted and not part.on and self._pose is not None and joints is not None:
                part.show(self._pose, joints)
            part.on = wanted
        self.trails.draw()
