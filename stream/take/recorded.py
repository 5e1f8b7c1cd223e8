"""A take as a recording of the stream: what it is published as, with the forces of the ground; docs/recordings.md.

Of a measured marker the pose says where it was measured; a take does not know where its joints come from, so that all count as
inferred.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from config.files import write_atomically
from config.joints import N_JOINTS
from database.contacts import CONTACT_JOINTS
from database.geometry.rotations import quaternion_from_matrix
from reconstruct.pose import JointSource, TrackingState
from stream.protocol.codec import encode_message
from stream.protocol.compose import compose_bare_skeleton_message, place_props
from stream.protocol.messages import MarkerReading, PoseMessage, SkeletonMessage
from stream.recording.outputs import build_recording_metadata
from stream.recording.recorder import FLOOR_KNOWN, build_recording
from stream.take.take import Take

SESSION = "take"


def write_recording(file: Path, take: Take) -> None:
    """Write a take as a recording."""
    write_atomically(file, encode_recording(take))


def encode_recording(take: Take) -> bytes:
    """Return a take as the bytes of a recording."""
    info = take.info
    session = info.session or SESSION
    names = () if take.markers is None else take.markers.names
    skeleton = compose_bare_skeleton_message(take.skeleton, info.subject, names, take.props)
    skeleton = replace(skeleton, mass_kg=None if take.forces is None else take.forces.mass_kg)
    metadata = build_recording_metadata(skeleton, session) | {"source": info.source, FLOOR_KNOWN: "yes"}
    if info.recorded:
        metadata |= {"when": info.recorded, "when_ns": "0"}
    return build_recording(metadata, _encode_messages(take, skeleton, session))


def _encode_messages(take: Take, skeleton: SkeletonMessage, session: str) -> Iterator[tuple[bytes, int, int]]:
    """Return the payloads with their times and numbers: the skeleton, then every pose."""
    yield encode_message(skeleton), 0, 0
    local = take.local_rotations()
    xyzw = quaternion_from_matrix(local).astype(np.float32)
    source = np.full(N_JOINTS, JointSource.INFERRED, np.uint8)
    for n, seconds in enumerate(take.seconds.tolist()):
        t_ns, lost = round(1e9 * seconds), take.states[n] is TrackingState.LOST
        x, y, z = take.root_m[n].tolist()
        feet = () if take.forces is None else take.forces.messages(n)
        pose = PoseMessage(
            hash=skeleton.hash,
            session=session,
            seq=n,
            t_capture_ns=t_ns,
            t_publish_ns=t_ns,
            skew_ns=0,
            state=take.states[n],
            root_m=(x, y, z),
            rotations_xyzw=xyzw[n],
            joint_source=source,
            confidence=np.full(N_JOINTS, 0.0 if lost else 1.0, np.float32),
            contacts=() if take.forces is None else tuple(np.array(CONTACT_JOINTS)[take.forces.contacts[n]].tolist()),
            markers=_build_markers(take, n),
            latency_ns={},
            ground_forces=feet,
            props=place_props(skeleton, local[n], take.root_m[n]),
        )
        yield encode_message(pose), t_ns, n


def _build_markers(take: Take, n: int) -> tuple[MarkerReading, ...]:
    """Return the measured markers of a frame."""
    if take.markers is None:
        return ()
    found = np.flatnonzero(take.markers.valid[n]).tolist()
    points = [(m, tuple(take.markers.point_m[n, m].tolist())) for m in found]
    bits = np.zeros(len(take.markers.names), np.uint8) if take.markers.cameras is None else take.markers.cameras[n]
    seen = [tuple(np.flatnonzero(row).tolist()) for row in np.unpackbits(bits[:, None], axis=1, bitorder="little")]
    return tuple(MarkerReading(take.markers.names[m], point, None, seen[m], point) for m, point in points)
