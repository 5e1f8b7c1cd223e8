"""Tasks and what is learned of them go through bytes unchanged, and what is neither is refused."""

from dataclasses import fields, replace

import msgpack
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from capture.sockets.wire import MalformedMessageError
from reconstruct.models.style.features import N_FEATURES
from reconstruct.models.style.learn.train import LearnOptions, fit_style
from reconstruct.models.style.model import Style, StyleError, build_evaluator
from reconstruct.models.style.task import (
    LearnTask,
    decode_learned,
    decode_task,
    encode_learned,
    encode_task,
    extract_learned_part,
    style_from_result,
)
from tests.reconstruct.style_poses import walking_task


@pytest.fixture(scope="module")
def task() -> LearnTask:
    return walking_task()


@pytest.fixture(scope="module")
def style(task: LearnTask) -> Style:
    return fit_style(task.poses, task.skeleton, task.name, task.options)


def is_same(one: object, other: object) -> bool:
    """Return whether two dataclasses hold the same bits."""
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()
    names = [field.name for field in fields(one)] if hasattr(one, "__dataclass_fields__") else []
    return all(is_same(getattr(one, n), getattr(other, n)) for n in names) if names else one == other


def test_a_task_goes_through_bytes_unchanged(task: LearnTask) -> None:
    assert is_same(decode_task(encode_task(task)), task)
    other = replace(task, options=LearnOptions(noise_variance=0.25, method="heuristic"))
    assert decode_task(encode_task(other)).options == other.options


def test_a_style_is_its_task_and_what_was_learned_to_the_bit(task: LearnTask, style: Style) -> None:
    learned = extract_learned_part(task, style, 2.5)
    again = decode_learned(encode_learned(learned))
    assert is_same(again, learned) and again.seconds == 2.5 and again.n_poses == len(task.poses)
    made = style_from_result(task, again)
    assert made is not None and is_same(replace(made, times=style.times, fitted=None), style)  # every field of a style
    assert made.times is task.poses.times
    with pytest.raises(StyleError, match="not of the poses"):
        extract_learned_part(task, replace(style, features=style.features + 1.0), 0.0)


def test_a_style_is_ready_as_it_comes_to_the_bit(task: LearnTask, style: Style) -> None:
    """What took time came with it; a record of an earlier version lacks that, and it is computed."""
    learned = extract_learned_part(task, style, 2.5)
    made, plain = (
        style_from_result(task, learned),
        style_from_result(task, decode_learned(encode_learned(replace(learned, fitted=None)))),
    )
    assert made is not None and plain is not None and plain.fitted is None
    assert is_same(build_evaluator(made, made.learned), build_evaluator(plain, plain.learned))
    assert build_evaluator(made, made.learned).coefficients is learned.fitted
    assert is_same(build_evaluator(made, made.annealed), build_evaluator(plain, plain.annealed))


BAD_TASK = {
    "features": b"\0" * (8 * N_FEATURES),
    "rotvec": b"\0" * 24,
    "stretch": np.full(1, np.nan).tobytes(),
    "offsets_m": b"\0" * 24,
    "options": {},
    "name": 3,
    "number": -1,
}
BAD_LEARNED = {
    "modelled": b"\1",
    "mean": b"\0" * 8,
    "latent": b"\0" * 7,
    "n_latent": 10**9,
    "scale": np.zeros(1).tobytes(),
    "active": np.array([0, 0]).tobytes(),
    "parameters": np.array([[1.0, 2.0, 3.0], [1.0, -2.0, 3.0]]).tobytes(),
    "objective": np.full(2, np.inf).tobytes(),
    "fitted": b"\0" * 8,
    "checksum": None,
    "seconds": "long",
}


@pytest.mark.parametrize("key", BAD_TASK)
def test_a_damaged_task_is_refused(key: str, task: LearnTask) -> None:
    content = msgpack.unpackb(encode_task(task))
    for change in ({key: BAD_TASK[key]}, {key: None}):
        with pytest.raises(MalformedMessageError):
            decode_task(msgpack.packb(content | change))


@pytest.mark.parametrize("key", BAD_LEARNED)
def test_a_damaged_style_is_refused(key: str, task: LearnTask, style: Style) -> None:
    content = msgpack.unpackb(encode_learned(extract_learned_part(task, style, 1.0)))
    for change in ({key: BAD_LEARNED[key]}, {key: None}):
        with pytest.raises(MalformedMessageError):
            decode_learned(msgpack.packb(content | change))


@pytest.mark.parametrize("active", [[-1, 3], [10**6], []])
def test_an_impossible_active_set_is_refused(active: list[int], task: LearnTask, style: Style) -> None:
    content = msgpack.unpackb(encode_learned(extract_learned_part(task, style, 1.0)))
    with pytest.raises(MalformedMessageError, match="active set"):
        decode_learned(msgpack.packb(content | {"active": np.array(active, np.int64).tobytes()}))


@given(st.binary(max_size=200))
def test_any_bytes_are_refused_in_words(data: bytes) -> None:
    for decode in (decode_task, decode_learned):
        with pytest.raises(MalformedMessageError):
            decode(data)
