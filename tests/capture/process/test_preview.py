"""Previews: what is sent is what was seen, only while somebody looks; hostile bytes are refused before they cost anything."""

import struct
import time
from collections.abc import Callable
from dataclasses import replace

import cv2
import msgpack
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from capture.detection.detector import Detector
from capture.packets import Blobs, Frame, Landmarks
from capture.process.preview import MAX_REQUESTS, PERIOD_NS, PreviewPublisher, PreviewSubscriber
from capture.process.preview_image import (
    MAX_SMALL_PX,
    TINT_BGR,
    DetectorOverlay,
    PreviewKind,
    PreviewRequest,
    clip_region,
    decode_preview,
    draw_foreground,
    encode_preview,
    make_overlay_source,
    make_preview,
    parse_topic,
)
from capture.sockets.wire import MAX_BLOBS, MalformedMessageError
from capture.sources.jpeg import read_jpeg_size
from config.settings import DetectorSettings
from tests.support.kept import Kept
from tests.support.waiting import wait_until

POINTS = np.array([[100.25, 50.5], [639.0, 0.0], [12.0, 479.5]])


def frame(t_ns: int = 0, size: tuple[int, int] = (640, 480), index: int = 7) -> Frame:
    """A picture that is blue on the left and red on the right, with one white spot."""
    image = np.zeros((size[1], size[0], 3), np.uint8)
    image[:, : size[0] // 2, 0], image[:, size[0] // 2 :, 2] = 200, 200
    image[100:140, 60:100] = 255
    return Frame(1, index, t_ns, image)


def blobs(index: int = 7) -> Blobs:
    none = np.zeros(len(POINTS))
    return Blobs(1, index, 0, POINTS.copy(), none.copy(), np.zeros((len(POINTS), 3)), none.copy())


@pytest.mark.parametrize(
    ("size", "small"), [((640, 480), (480, 360)), ((1280, 720), (480, 270)), ((480, 640), (360, 480)), ((320, 200), (320, 200))]
)
def test_a_preview_is_the_picture_shrunk(size: tuple[int, int], small: tuple[int, int]) -> None:
    preview = decode_preview(encode_preview(make_preview(frame(3, size), blobs())))
    assert (preview.camera, preview.index, preview.t_capture_ns, preview.size) == (1, 7, 3, size)
    np.testing.assert_allclose(preview.points_px, POINTS, atol=1e-4)
    image = preview.image()
    assert image.shape == (small[1], small[0], 3) and read_jpeg_size(preview.jpeg) == small
    assert image[-10, 10, 0] > 150 and image[-10, 10, 2] < 60 and image[-10, -10, 2] > 150
    scale = small[0] / size[0]
    assert image[round(120 * scale), round(80 * scale)].min() > 220


def test_pictures_come_only_while_somebody_looks(kept: Kept) -> None:
    publisher = kept(PreviewPublisher())
    for n in range(20):
        publisher.offer(frame(n * PERIOD_NS), blobs())
    assert publisher.n_sent == 0 and not publisher.wanted
    subscriber = kept(PreviewSubscriber(publisher.address))
    wait_until(lambda: publisher.wanted)
    assert subscriber.newest() is None
    publisher.offer(frame(10**12, index=8), blobs())
    seen = []
    wait_until(lambda: seen.append(subscriber.newest()) or seen[-1])
    assert seen[-1].index == 8
    np.testing.assert_allclose(seen[-1].points_px, POINTS, atol=1e-4)
    subscriber.close()
    wait_until(lambda: not publisher.wanted)
    n_sent = publisher.n_sent
    publisher.offer(frame(2 * 10**12), blobs())
    time.sleep(0.15)
    assert publisher.n_sent == n_sent == 1
    publisher.close()
    assert not publisher._thread.is_alive()


def test_at_most_ten_pictures_a_second_and_time_may_begin_anew(kept: Kept) -> None:
    publisher = kept(PreviewPublisher())
    kept = []
    for n in range(60):
        publisher.wanted = True  # the thread finds out at any time that nobody hears, and takes nothing: what is offered stays
        publisher.offer(frame(n * 16_666_667, index=n), blobs())
        if publisher._latest is not None:
            kept.append(publisher._latest[0].index)
            publisher._latest = None
    assert len(kept) == 10 and kept[0] == 0
    publisher.wanted = True
    publisher.offer(frame(-(10**12), index=99), blobs())
    assert publisher._latest is not None and publisher._latest[0].index == 99


def content_of() -> dict[str, object]:
    return msgpack.unpackb(encode_preview(make_preview(frame(), blobs())))


@pytest.mark.parametrize(
    "change",
    [
        {"camera": 8},
        {"width": 0},
        {"height": 1 << 20},
        {"width": True},
        {"index": -1},
        {"blobs": b"\0" * 9},
        {"blobs": struct.pack("<4f", float("nan"), 0.0, 1.0, 1.0)},
        {"blobs": b"\0" * 16 * (MAX_BLOBS + 1)},
        {"jpeg": "text"},
        {"jpeg": None},
        {"t_capture_ns": 2**63},
    ],
)
def test_messages_that_are_no_previews_are_refused(change: dict[str, object]) -> None:
    with pytest.raises(MalformedMessageError):
        decode_preview(msgpack.packb({**content_of(), **change}))


def enlarged(jpeg: bytes, width: int, height: int) -> bytes:
    """A JPEG whose header claims another size."""
    at = jpeg.index(b"\xff\xc0")
    return jpeg[: at + 5] + struct.pack(">HH", height, width) + jpeg[at + 9 :]


def test_a_jpeg_that_claims_to_be_huge_is_not_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    content = content_of()
    jpeg = content["jpeg"]
    assert isinstance(jpeg, bytes)
    assert read_jpeg_size(enlarged(jpeg, 65535, 65000)) == (65535, 65000)
    monkeypatch.setattr(cv2, "imdecode", lambda *_: pytest.fail("decoded"))
    for width, height in [(65535, 65535), (MAX_SMALL_PX + 1, 10), (10, MAX_SMALL_PX + 1), (0, 0)]:
        preview = decode_preview(msgpack.packb({**content, "jpeg": enlarged(jpeg, width, height)}))
        with pytest.raises(MalformedMessageError):
            preview.image()


@given(st.binary(max_size=400), st.integers(0, 600))
def test_broken_pictures_raise_one_error(tail: bytes, cut: int) -> None:
    content = content_of()
    jpeg = content["jpeg"]
    assert isinstance(jpeg, bytes)
    for broken in (tail, b"\xff\xd8" + tail, jpeg[:cut] + tail):
        preview = decode_preview(msgpack.packb({**content, "jpeg": broken}))
        try:
            image = preview.image()
        except MalformedMessageError:
            continue
        assert image.ndim == 3 and max(image.shape) <= MAX_SMALL_PX


def test_garbage_on_the_socket_is_counted_and_nothing_else(kept: Kept) -> None:
    publisher = kept(PreviewPublisher())
    subscriber = kept(PreviewSubscriber(publisher.address))
    wait_until(lambda: publisher.wanted)
    publisher._socket.send(PreviewRequest().topic + b"\x00garbage")
    wait_until(lambda: subscriber.newest() is not None or subscriber.n_malformed)
    assert subscriber.n_malformed == 1


@pytest.mark.parametrize(
    "port", ["nonsense", "tcp://127.0.0.1:0", "tcp://127.0.0.1:65536", "tcp://192.168.0.2:80", "tcp://127.0.0.1:1\n"]
)
def test_only_a_port_of_this_machine_is_an_address(port: str) -> None:
    with pytest.raises(MalformedMessageError, match="no address of previews"):
        PreviewSubscriber(port)


def test_a_wish_is_its_topic_and_no_topic_begins_another() -> None:
    wishes = [
        PreviewRequest(),
        PreviewRequest(PreviewKind.FOREGROUND),
        PreviewRequest(PreviewKind.PICTURE, (1, 2, 30, 40)),
        PreviewRequest(PreviewKind.PICTURE, (1, 2, 30, 400)),
        PreviewRequest(PreviewKind.FOREGROUND, (0, 0, 1, 1)),
    ]
    topics = [wish.topic for wish in wishes]
    assert [parse_topic(topic) for topic in topics] == wishes
    assert not any(a != b and b.startswith(a) for a in topics for b in topics)
    for noise in (
        b"",
        b"picture",
        b"picture \n",
        b"picture 1 2 3\n",
        b"picture -1 2 3 4\n",
        b"picture 1 2 3 999999\n",
        b"\xff\n",
    ):
        assert parse_topic(noise) is None


@given(st.tuples(*[st.integers(0, 99_999)] * 4), st.integers(1, 5000), st.integers(1, 5000))
def test_a_region_always_lies_in_the_picture(region: tuple[int, int, int, int], width: int, height: int) -> None:
    x, y, w, h = clip_region(region, (width, height))
    assert x >= 0 and y >= 0 and w >= min(16, width) and h >= min(16, height)
    assert x + w <= width and y + h <= height


def test_a_region_is_shown_pixel_by_pixel_with_the_blobs_of_the_whole() -> None:
    preview = decode_preview(
        encode_preview(make_preview(frame(), blobs(), PreviewRequest(PreviewKind.PICTURE, (50, 90, 60, 60))))
    )
    assert (preview.region, preview.size) == ((50, 90, 60, 60), (640, 480))
    image = preview.image()
    assert image.shape == (60, 60, 3)
    assert image[30, 30].min() > 220 and image[2, 2].max() < 220  # the white spot begins at (60, 100)
    np.testing.assert_allclose(preview.points_px, POINTS, atol=1e-4)


def test_landmarks_travel_with_the_picture() -> None:
    found = Landmarks(np.arange(66.0).reshape(33, 2), np.linspace(0.0, 1.0, 33), 0.9)
    sent = decode_preview(encode_preview(make_preview(frame(), replace(blobs(), landmarks=found))))
    assert sent.landmarks is not None and sent.landmarks.presence == 0.9
    assert (sent.landmarks.image_px == found.image_px).all() and (sent.landmarks.score == found.score).all()
    assert decode_preview(encode_preview(make_preview(frame(), blobs()))).landmarks is None


def test_area_and_sigma_travel_and_what_the_detector_goes_by() -> None:
    found = Blobs(1, 7, 0, POINTS.copy(), np.array([3.0, 4.5, 50.0]), np.zeros((3, 3)), np.array([0.1, 0.25, 2.0]))
    preview = decode_preview(
        encode_preview(make_preview(frame(), found, PreviewRequest(PreviewKind.FOREGROUND), DetectorOverlay("dark", 68)))
    )
    np.testing.assert_allclose(preview.area_px, [3.0, 4.5, 50.0])
    np.testing.assert_allclose(preview.sigma_px, [0.1, 0.25, 2.0], atol=1e-6)
    assert (preview.kind, preview.mode, preview.level) == (PreviewKind.FOREGROUND, "dark", 68)
    assert decode_preview(encode_preview(make_preview(frame(), found))).level is None


def test_foreground_is_the_runs_of_the_detector() -> None:
    runs = np.array([[0, 3, 3], [2, 0, 1], [2, 3, 4], [3, 4, 4], [9, 0, 0], [1, 2, 99]], np.int32)  # two are of a larger picture
    expected = np.array([[0, 0, 0, 1, 0], [0, 0, 0, 0, 0], [1, 1, 0, 1, 1], [0, 0, 0, 0, 1]], bool)
    np.testing.assert_array_equal(DetectorOverlay("dark", 50, runs).foreground((5, 4)), expected)
    assert not DetectorOverlay().foreground((5, 4)).any()
    assert DetectorOverlay("color", None, runs, flooded=True).foreground((5, 4)).all()


def test_a_detector_is_asked_what_it_saw() -> None:
    detector = Detector(DetectorSettings(mode="dark"))
    look = make_overlay_source(detector)
    assert look is not None and make_overlay_source(object()) is None
    assert look().mode == "" and len(look().runs) == 0  # before the first frame
    image = np.zeros((480, 640, 3), np.uint8)
    centers = [(60 + 90 * n, 100 + 37 * n) for n in range(6)]
    for center in centers:
        cv2.circle(image, center, 5, (230, 230, 230), -1)
    image = cv2.GaussianBlur(image, (5, 5), 1.0)
    for n in range(8):
        detector.step(Frame(0, n, n * 10**7, image))
    seen = look()
    assert seen.mode == "dark" and seen.level is not None
    np.testing.assert_array_equal(seen.foreground((640, 480)), image.max(axis=2) > seen.level)
    detector.step(Frame(0, 9, 9 * 10**7, np.zeros_like(image)))
    assert seen.foreground((640, 480)).sum() > 400  # what was asked for stays as it was


def test_foreground_stands_out_and_the_rest_is_dim() -> None:
    image = np.full((48, 64, 3), 100, np.uint8)
    image[10:14, 20:24] = 255
    shown = draw_foreground(image, image.max(axis=2) > 200)
    assert shown[0, 0].tolist() == [50, 50, 50]
    blue, green, red = (int(value) for value in shown[12, 22])
    assert red == 255 and blue < green < red and TINT_BGR[0] < blue
    flooded = draw_foreground(image, np.ones((48, 64), np.bool_))
    assert (flooded == image).all()
    dark = draw_foreground(np.full((48, 64, 3), 10, np.uint8), np.zeros((48, 64), np.bool_))
    assert dark.min() > 15  # lifted, so that the room is seen


def test_previews_give_way_while_detection_is_late_and_come_back(kept: Kept) -> None:
    at, made = 0, list[int]()

    def overlay() -> DetectorOverlay:
        made.append(at)
        return DetectorOverlay()

    publisher = kept(PreviewPublisher(overlay))
    kept(PreviewSubscriber(publisher.address))
    wait_until(lambda: publisher.wanted)
    for at in range(64):  # a frame every 50 ms, late from the first second to the second
        publisher.offer(frame(10**12 + at * PERIOD_NS // 2, index=at), blobs(), late=20 <= at < 40)
        assert publisher.resting == (20 <= at < 58)
    assert made == [*range(0, 20, 2), 38, 58, 60, 62]


def test_two_see_different_things_of_one_frame_and_one_changes_its_mind(kept: Kept) -> None:
    spot = np.array([[y, 60, 99] for y in range(100, 140)], np.int32)
    publisher = kept(PreviewPublisher(lambda: DetectorOverlay("dark", 210, spot)))
    plain, marked = (
        kept(PreviewSubscriber(publisher.address)),
        kept(PreviewSubscriber(publisher.address, PreviewRequest(PreviewKind.FOREGROUND))),
    )
    wait_until(lambda: len(publisher._requests) == 2)
    seen: dict[str, object] = {}
    watching = [plain, marked]

    def look(until: Callable[[], object]) -> None:
        for n in range(1500):
            publisher.offer(frame(look.t_ns + n * PERIOD_NS, index=n), blobs())  # type: ignore[attr-defined]
            time.sleep(0.02)
            for subscriber in watching:
                if preview := subscriber.newest():
                    seen[preview.kind if preview.region == (0, 0, *preview.size) else "part"] = preview
            if until():
                look.t_ns += 10**12  # type: ignore[attr-defined]
                return
        raise AssertionError(f"saw only {seen}")

    look.t_ns = 10**12  # type: ignore[attr-defined]
    look(lambda: len(seen) == 2)
    assert seen[PreviewKind.FOREGROUND].level == 210 and seen["picture"].image()[-10, 10, 0] > 150  # type: ignore[attr-defined]
    assert seen[PreviewKind.FOREGROUND].image()[-10, 10].max() < 120  # type: ignore[attr-defined]
    marked.request(PreviewRequest(PreviewKind.PICTURE, (0, 0, 100, 50)))
    look(lambda: "part" in seen)
    assert seen["part"].region == (0, 0, 100, 50)  # type: ignore[attr-defined]
    marked.close()
    watching.remove(marked)
    wait_until(lambda: len(publisher._requests) == 1)
    seen.clear()
    look(lambda: PreviewKind.PICTURE in seen)  # the other one still gets what it asked for
    plain.close()
    wait_until(lambda: not publisher.wanted)


def test_a_flood_of_wishes_costs_no_more_than_a_few(kept: Kept) -> None:
    publisher = kept(PreviewPublisher())
    many = [
        PreviewSubscriber(publisher.address, PreviewRequest(PreviewKind.PICTURE, (n, 0, 20, 20))) for n in range(3 * MAX_REQUESTS)
    ]
    wait_until(lambda: publisher.wanted)
    wait_until(lambda: len(publisher._requests) == MAX_REQUESTS)
    time.sleep(0.2)  # more would come now
    assert len(publisher._requests) == MAX_REQUESTS
    for subscriber in many:
        subscriber.close()
    wait_until(lambda: not publisher.wanted)
