"""Specimens of foreign lenses."""

from tests.zoo.specimen import Specimen

SPECIMENS: tuple[Specimen, ...] = ()
