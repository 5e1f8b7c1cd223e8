"""What a running camera can be given: types, bounds, and words for everything else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.errors import SettingsError
from config.settings import DetectorSettings
from config.tunable import BOUNDS, MAX_VALUES, TUNABLE, checked, choices, flat, nested


def test_values_get_the_types_of_the_settings() -> None:
    values = {
        "detector.k_sigma": 5,
        "detector.mode": "dark",
        "camera.exposure": -6,
        "camera.gain": "auto",
        "camera.focus": " 40.5 ",
    }
    typed = checked(values)
    assert typed == {
        "detector.k_sigma": 5.0,
        "detector.mode": "dark",
        "camera.exposure": "-6",
        "camera.gain": "auto",
        "camera.focus": "40.5",
    }
    assert isinstance(typed["detector.k_sigma"], float)
    assert nested(typed) == {
        "detector": {"k_sigma": 5.0, "mode": "dark"},
        "camera": {"exposure": "-6", "gain": "auto", "focus": "40.5"},
    }
    assert flat(nested(typed)) == typed
    assert flat({"camera": {"width": 640, "gain": "3"}}) == {"camera.gain": "3"}


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("camera.width", 1280, "settled when the camera is opened"),
        ("detector.k_sigma", 0.1, "must be within 0.5 and 50, got 0.1"),
        ("detector.min_difference", 256, "must be within 1 and 255"),
        ("camera.exposure", "1e9", "must be within -1e+07 and 1e+07"),
        ("camera.exposure", "1e999", "must be auto or a number"),
        ("detector.mode", "night", "one of 'auto', 'dark', 'background'"),
        ("detector.k_sigma", float("nan"), "finite"),
        ("detector.k_sigma", {"a": 1}, "must be a number"),
        ("detector", {"k_sigma": 5.0}, "no setting of a camera"),
        ("detector.k_sigma.x", 1, "unknown setting"),
        ("left.detector.k_sigma", 1, "unknown setting"),
        ("name.x", 1, "unknown setting"),
        ("solve.neighbours", 1, "unknown setting"),
        ("", 1, "no setting of a camera"),
        (".", 1, "no setting of a camera"),
    ],
)
def test_what_cannot_be_is_refused_in_words(key: str, value: object, words: str) -> None:
    with pytest.raises(SettingsError) as caught:
        checked({key: value})
    assert words in str(caught.value)


def test_not_too_many_at_once() -> None:
    with pytest.raises(SettingsError, match="at most"):
        checked({f"detector.x{n}": 1 for n in range(MAX_VALUES + 1)})


def test_modes_are_offered_as_words_and_every_bounded_setting_exists() -> None:
    assert choices("detector.mode") == ("auto", "dark", "background")
    assert choices("detector.k_sigma") == ()
    assert set(BOUNDS) <= set(TUNABLE)
    for key, (low, high) in BOUNDS.items():
        default = getattr(DetectorSettings(), key.removeprefix("detector."))
        assert low <= default <= high


@given(st.dictionaries(st.text() | st.sampled_from(TUNABLE), st.none() | st.booleans() | st.integers() | st.floats() | st.text()))
def test_nothing_but_a_settings_error_comes_of_noise(values: dict[str, object]) -> None:
    try:
        typed = checked(values)
    except SettingsError as error:
        assert str(error)
    else:
        assert set(typed) <= set(TUNABLE)
