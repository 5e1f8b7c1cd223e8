"""Pictures put together from NAL units, by hand."""

from capture.access_units import AccessUnits

SPS, KEY, DELTA = b"\0\0\0\1\x67s", b"\0\0\0\1\x65k", b"\0\0\0\1\x41d"


def fed(units: AccessUnits, *pieces: tuple[bytes, int | None]) -> list[tuple[bytes, int | None, int]]:
    """Feed pieces, one a nanosecond; give what came out."""
    out = []
    for t_ns, (data, pts) in enumerate(pieces):
        out += [(unit.data, unit.pts, unit.t_arrival_ns) for unit in units.feed(data, pts, t_ns)]
    return out


def test_a_picture_ends_where_the_next_begins_until_their_slices_are_known() -> None:
    units = AccessUnits("h264")
    assert fed(units, (SPS, 0), (KEY, 0)) == []
    assert fed(units, (DELTA, 1)) == [(SPS + KEY, 0, 0)]
    assert fed(units, (DELTA, 2)) == [(DELTA, 1, 0)]
    assert fed(units, (DELTA, 3)) == [(DELTA, 2, 0), (DELTA, 3, 0)]  # the third of one slice: now it is known
    assert fed(units, (SPS, 4), (KEY, 4), (DELTA, 5)) == [(SPS + KEY, 4, 0), (DELTA, 5, 2)]


def test_pictures_of_several_slices_come_with_their_last() -> None:
    units = AccessUnits("h264")
    many = [(DELTA, pts) for pts in range(3) for _ in range(4)]
    assert [pts for _, pts, _ in fed(units, *many)] == [0, 1]
    assert fed(units, *[(DELTA, 3)] * 4) == [(4 * DELTA, 2, 8), (4 * DELTA, 3, 0)]


def test_an_encoder_that_changes_its_mind_is_learned_anew() -> None:
    units = AccessUnits("h264")
    fed(units, *[(DELTA, pts) for pts in range(6)])
    assert fed(units, (DELTA, 6), (DELTA, 6)) == [(DELTA, 6, 0)]  # the second slice comes too late for this one picture
    assert fed(units, (DELTA, 7), (DELTA, 7)) == [(DELTA, 6, 1)]
    assert fed(units, (DELTA, 8), (DELTA, 8)) == [(2 * DELTA, 7, 0)]
    assert fed(units, (DELTA, 9), (DELTA, 9)) == [(2 * DELTA, 8, 0), (2 * DELTA, 9, 0)]


def test_several_units_in_one_piece_and_no_stamp() -> None:
    units = AccessUnits("h264")
    assert fed(units, (SPS + KEY, None), (DELTA, None)) == [(SPS + KEY, None, 0), (DELTA, None, 1)]


def test_h265_and_codecs_that_come_whole() -> None:
    slice_265, parameters_265 = b"\0\0\1\x02x", b"\0\0\1\x42p"  # kinds 1 and 33
    units = AccessUnits("hevc")
    fed(units, *[(slice_265, pts) for pts in range(4)])
    assert fed(units, (parameters_265, 4), (slice_265, 4)) == [(parameters_265 + slice_265, 4, 0)]
    assert fed(AccessUnits("mjpeg"), (b"jpeg", 7)) == [(b"jpeg", 7, 0)]
