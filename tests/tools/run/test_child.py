"""What is known of one process of a run."""

from capture.process.control import CameraStatusOrder, Report, ReportKind, decode_order, encode_order
from tools.run.child import NODE_FIGURES, ChildProcess


def test_what_a_process_tells_is_kept_by_name_and_the_newest_counts() -> None:
    child = ChildProcess("left", None, None)
    child.hear(Report(ReportKind.READY, "s", "", {"frames": 1, "sent": 1}, {"preview": "tcp://127.0.0.1:5", "gain": 3}), 10)
    child.hear(Report(ReportKind.BEAT, "s", "", {"frames": 7}, {"gain": 4}), 20)
    assert (child.counts, child.details) == ({"frames": 7, "sent": 1}, {"preview": "tcp://127.0.0.1:5", "gain": 4})
    assert child.greeted and child.last_heard_ns == 20


def test_a_node_that_tells_ever_more_is_kept_within_what_can_be_passed_on() -> None:
    child = ChildProcess("left", None, None)
    figures = dict.fromkeys(NODE_FIGURES, 5)
    for k in range(500):
        child.hear(Report(ReportKind.BEAT, "s", "", {**figures, f"n{k}": k}, {f"x{k}": k}), k)
    assert max(len(child.counts), len(child.details)) < 64
    order = CameraStatusOrder("left", child.described)
    assert decode_order(encode_order(order)) == order and order.details["rtt_ns"] == 5 and order.details["node"] == "opening"
