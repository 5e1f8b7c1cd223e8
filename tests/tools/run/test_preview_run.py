"""Previews of a whole run: from the cameras' processes to whoever looks, found by the stream's status."""

from functools import partial

import numpy as np
import pytest

from capture.process.plan import CameraPlan
from capture.process.preview import PERIOD_NS, PreviewSubscriber
from capture.process.preview_image import Preview
from reconstruct.process.main import ReconstructionPlan
from stream.protocol.messages import StatusMessage
from stream.publish.sink import StreamSink
from tests.support import fakes
from tests.support.ports import free_address
from tests.tools.run.test_supervisor import BUDGET_NS, Client, turns
from tools.run.supervisor import Supervisor, new_session


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_status_tells_where_both_cameras_show_what_they_see() -> None:
    address, session = free_address(), new_session()
    cameras = tuple(CameraPlan(n, partial(fakes.CountingSource, n), fakes.corner, paced=True, preview=True) for n in (0, 1))
    plan = ReconstructionPlan(fakes.IndexPipeline, partial(StreamSink, address, session, fakes.subject(), fakes.rig()), BUDGET_NS)
    with Supervisor((cameras[0], cameras[1]), plan, session) as run:
        run.wait_ready(120)
        client = Client(address)
        run.start()

        def told() -> list[StatusMessage]:
            return [status for status in client.of(StatusMessage) if all("preview" in c for c in status.cameras.values())]

        turns(run, 6.0, client, until=lambda: bool(told()))
        status = told()[-1]
        lookers = [PreviewSubscriber(str(status.cameras[name]["preview"])) for name in ("left", "right")]
        shown: list[list[Preview]] = [[], []]

        def look() -> bool:
            for looker, seen in zip(lookers, shown, strict=True):
                preview = looker.newest()
                if preview is not None:
                    seen.append(preview)
            return all(len(seen) >= 5 for seen in shown)

        turns(run, 40.0, client, until=look)
        for n, seen in enumerate(shown):
            assert len(seen) >= 5
            for preview in seen:
                # The picture's grey and the blob tell the frame, so nothing was mixed up on the way.
                assert (preview.camera, preview.size) == (n, (32, 24))
                np.testing.assert_allclose(preview.points_px, [[preview.index, n]])
                assert abs(float(preview.image().mean()) - preview.index % 256) < 3.0
            steps_ns = np.diff([preview.t_capture_ns for preview in seen])
            assert (steps_ns >= 0.98 * PERIOD_NS).all()
        for looker in lookers:
            looker.close()
        client.close()
