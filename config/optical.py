"""Labels of optical systems' marker sets and where on the body they are: `optical_places.toml`, `optical_labels.toml`."""

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib import resources
from typing import Any

from config.joints import mirror_joint_name

LEAST_MARKERS, LEAST_TORSO = 8, 3  # of a body, and of its trunk: with fewer most joints would be guessed
SYNONYMS = "synonyms"
SIDES = (("L", "LEFT"), ("R", "RIGHT"))


@dataclass(frozen=True, slots=True)
class MarkerPlace:
    """A place on the body.

    Attributes:
        name: such as `asis`.
        joint: of the bone.
        offset_m: place in the joint's frame in the rest pose, x to the performer's left, y up, z forward [m].
        sigma_m: standard deviation of markers from there [m].
        torso: whether it tells where the root is.
    """

    name: str
    joint: str
    offset_m: tuple[float, float, float]
    sigma_m: float
    torso: bool = False

    def mirrored(self) -> "MarkerPlace":
        """Return the place of the other side."""
        x, y, z = self.offset_m
        return replace(self, joint=mirror_joint_name(self.joint), offset_m=(-x, y, z))


@dataclass(frozen=True, slots=True)
class KnownLabels:
    """What the labels of a file mean.

    Attributes:
        set_name: the marker set that has most of them.
        prefix: in front of all labels, such as `Subject_`.
        places: by label, of those that are known.
    """

    set_name: str
    prefix: str
    places: Mapping[str, MarkerPlace]


@lru_cache(maxsize=1)
def _read_places() -> dict[str, MarkerPlace]:
    """Return the places of the left side and the middle by their names."""
    tables = _read_table("optical_places.toml")
    rows = {name: table for group in tables.values() for name, table in group.items()}
    return {
        name: MarkerPlace(name, row["joint"], tuple(row["offset_m"]), row["sigma_m"], row.get("torso", False))
        for name, row in rows.items()
    }


def _read_table(name: str) -> dict[str, Any]:
    """Return a table that comes with duocap."""
    return tomllib.loads((resources.files("config") / name).read_text("utf-8"))


@lru_cache(maxsize=1)
def _read_sets() -> dict[str, dict[str, MarkerPlace]]:
    """Return the places of all sets by labels as they are written, with L and R for the sides."""
    return {name: dict(_expand_set(table)) for name, table in _read_table("optical_labels.toml").items()}


def _expand_set(table: Mapping[str, Any]) -> list[tuple[str, MarkerPlace]]:
    """Return the labels of a set with their places, both sides."""
    places = _read_places()
    found = [(label, places[name]) for label, name in table["torso"].items()]
    found += [(label, places[name].mirrored()) for label, name in table.get("right", {}).items()]
    for pattern, name in table["both"].items():
        found += [(pattern.format(s="L"), places[name]), (pattern.format(s="R"), places[name].mirrored())]
    return found


@lru_cache(maxsize=1)
def _read_spellings() -> dict[str, dict[str, MarkerPlace]]:
    """Return the places of all sets by plain labels, sides spelt in every way."""
    result: dict[str, dict[str, MarkerPlace]] = {}
    for name, table in _read_table("optical_labels.toml").items():
        places = {_make_plain(label): place for label, place in _read_sets()[name].items()}
        for pattern, place_name in table["both"].items():
            place = _read_places()[place_name]
            for spellings, sided in zip(SIDES, (place, place.mirrored()), strict=True):
                places |= {_make_plain(pattern.format(s=side)): sided for side in spellings}
                if pattern.startswith("{s}"):
                    places |= {_make_plain(pattern[3:] + side): sided for side in spellings if len(side) > 1}
        result[name] = places
    return result


def list_optical_sets() -> list[str]:
    """Return the names of the marker sets that are known."""
    return sorted(name for name in _read_sets() if name != SYNONYMS)


def read_optical_set(name: str) -> dict[str, MarkerPlace]:
    """Return the places of a set's markers by their labels."""
    return dict(_read_sets()[name])


def find_marker_places(labels: Sequence[str]) -> KnownLabels:
    """Return what labels mean; those that no set knows are left out.

    A prefix that makes more of them known is taken off, such as that of the performer.
    """
    found = [_find_places(labels, prefix) for prefix in ("", *_list_prefixes(labels))]
    return max(found, key=lambda known: len(known.places))


def find_people(labels: Sequence[str]) -> dict[str, str]:
    """Return the people whose names stand before labels, and the prefixes; of each, as many labels are known as a body needs."""
    own = {prefix: [label for label in labels if label.startswith(prefix)] for prefix in _list_prefixes(labels)}
    known = {prefix: _find_places(some, prefix).places.values() for prefix, some in own.items()}
    return {
        prefix.rstrip(":_. "): prefix
        for prefix, places in known.items()
        if len(places) >= LEAST_MARKERS and sum(place.torso for place in places) >= LEAST_TORSO
    }


def _list_prefixes(labels: Sequence[str]) -> list[str]:
    """Return what may be a name before labels: all up to the last colon, or to the first other sign that divides."""
    found = (re.match(r".*:" if ":" in label else r".*?[_. ]", label) for label in labels)
    return sorted({match.group(0) for match in found if match})


def _find_places(labels: Sequence[str], prefix: str) -> KnownLabels:
    """Return what labels mean without a prefix, by the set that knows most of them, then by any other."""
    plain = {label: _make_plain(label.removeprefix(prefix)) for label in labels}
    sets = _read_spellings()
    known = {name: sum(text in places for text in plain.values()) for name, places in sets.items() if name != SYNONYMS}
    best = max(known, key=lambda name: known[name])
    order = [sets[best], sets[SYNONYMS], *(places for name, places in sets.items() if name not in (best, SYNONYMS))]
    places = {label: next((each[text] for each in order if text in each), None) for label, text in plain.items()}
    return KnownLabels(best, prefix, {label: place for label, place in places.items() if place is not None})


def _make_plain(label: str) -> str:
    """Return the letters and digits of a label, in capitals."""
    return re.sub(r"[^A-Z0-9]", "", label.upper())
