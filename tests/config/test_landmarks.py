"""The names of landmarks."""

from config.landmarks import LANDMARKS, MIRRORED, N_LANDMARKS


def test_sides_are_mirrored_in_pairs() -> None:
    assert N_LANDMARKS == len(set(LANDMARKS)) == 33
    assert all(MIRRORED[MIRRORED[k]] == k for k in range(N_LANDMARKS))
    assert [LANDMARKS[k] for k in range(N_LANDMARKS) if MIRRORED[k] == k] == ["nose"]
    assert LANDMARKS[MIRRORED[LANDMARKS.index("mouth_left")]] == "mouth_right"
