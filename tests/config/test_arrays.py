"""Dataclasses of read-only arrays."""

import pickle
from dataclasses import fields

import numpy as np

from database.builtin import build_person_skeleton
from tests.support.people import front_rig


def test_arrays_are_read_only_in_another_process_too() -> None:
    for made in (build_person_skeleton(1.7), front_rig().cameras[0]):
        there = pickle.loads(pickle.dumps(made))
        values = [(field.name, getattr(made, field.name)) for field in fields(made)]
        arrays = [(name, value) for name, value in values if isinstance(value, np.ndarray)]
        assert arrays
        for name, array in arrays:
            other = getattr(there, name)
            assert (other == array).all() and not other.flags.writeable, name
