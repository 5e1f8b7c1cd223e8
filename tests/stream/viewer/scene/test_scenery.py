"""The scene of a track: the world moves with the performer."""

from dataclasses import replace

import pytest
import viser

from stream.viewer.history import PoseHistory
from stream.viewer.scene.scenery import Scenery
from stream.viewer.scene.world import WORLD
from stream.viewer.track import ViewerTrack
from tests.support.viewer.walking_stream import pose, rig, skeleton


def test_the_world_goes_along_with_a_performer_who_walks_away(server: viser.ViserServer) -> None:
    scenery, track = Scenery(server, True), ViewerTrack("t", PoseHistory(60.0), skeleton=skeleton(), rig=rig("s"))
    for n in range(120):
        walking = replace(pose("s", n, 10**9 + n * 16_000_000), root_m=(0.02 * n, 0.95, 0.0))
        track.add(walking, walking.t_publish_ns)
    scenery.set_tracks((track,))
    scenery.show(0.0)
    for n in range(120):
        scenery.show(n * 0.016)
    placed = server.scene.get_handle_by_name(WORLD)
    assert placed is not None
    assert 0.0 < 2.38 + placed.position[0] < 0.7, "in the scene the performer is near the middle"
    assert placed.position[1] == 0.0 and placed.position[2] == pytest.approx(0.0)
    scenery.follow = False
    before = tuple(placed.position)
    scenery.show(0.0)
    assert tuple(placed.position) == before
