"""Specimens of foreign rigs."""

from tests.zoo.specimen import Specimen

SPECIMENS: tuple[Specimen, ...] = ()
