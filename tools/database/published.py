"""Collections of motion that others publish: where, under which licence, how large, what is in them.

A new one is an entry of COLLECTIONS. Nothing of them is part of duocap. Publishers give no checksums.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final

ARCHIVE: Final = ".zip"


@dataclass(frozen=True, slots=True)
class MotionCollection:
    """Motion of one publisher.

    Attributes:
        name: name as in `duocap database get NAME`.
        contents: one line on what is in it.
        publisher: address that `files` are relative to.
        files: archives (.zip), or motion files one by one.
        terms: terms of use, as the publisher states them.
        credit: text of the credit in published results.
        download_mb, unpacked_mb: approximate sizes [10^6 bytes].
    """

    name: str
    contents: str
    publisher: str
    files: tuple[str, ...]
    terms: str
    credit: str
    download_mb: int
    unpacked_mb: int

    def takes(self, name: str) -> bool:
        """Return whether a motion file of an archive belongs to the collection: one that lists single files has these only."""
        if any(PurePosixPath(file).suffix == ARCHIVE for file in self.files):
            return True
        return name in {PurePosixPath(file).name for file in self.files}

    def licence_lines(self) -> list[str]:
        """Return what is to be agreed to."""
        return [f"{self.name}: {self.contents}", f"published at {self.publisher}", self.terms, f"Credit: {self.credit}"]


CMU: Final = "http://mocap.cs.cmu.edu/"
CMU_TERMS: Final = (
    "This dataset of motions is free for all uses. You may include this data in commercially-sold products, but you may not "
    "resell this data directly, even in converted form."
)
CMU_CREDIT: Final = (
    '"The data used in this project was obtained from mocap.cs.cmu.edu. '
    'The database was created with funding from NSF EIA-0196217."'
)
HDM05: Final = "https://resources.mpi-inf.mpg.de/HDM05/"
HDM05_TERMS: Final = (
    "Creative Commons Attribution-ShareAlike 3.0 Unported (https://creativecommons.org/licenses/by-sa/3.0/): what is made of it "
    "and passed on stays under the same licence."
)
HDM05_CREDIT: Final = (
    '"The data used in this project was obtained from HDM05." M. Müller, T. Röder, M. Clausen, B. Eberhardt, B. Krüger, '
    "A. Weber: Documentation Mocap Database HDM05, technical report CG-2007-2, Universität Bonn, 2007."
)
HDM05_ACTORS: Final = tuple(f"asf/HDM_{actor}.asf" for actor in ("bd", "bk", "dg", "mm", "tr"))
HDM05_SCENES: Final = (
    "01-01 01-02 01-03 01-04 02-01 02-02 02-03 03-01 03-02 03-03 03-04 03-05 03-08 03-09 03-10 03-11 04-01 05-01 05-02 05-03"
)
# Subjects of the CMU collection that walk, run and jump: subject, first and last trial.
LOCOMOTION: Final = (("02", 1, 4), ("07", 1, 12), ("08", 1, 11), ("09", 1, 12), ("16", 1, 58), ("35", 1, 34), ("127", 3, 38))


def _select_locomotion() -> Iterator[str]:
    """Return the files of the CMU collection in which people walk, run and jump."""
    for subject, first, last in LOCOMOTION:
        yield f"subjects/{subject}/{subject}.asf"
        for trial in range(first, last + 1):
            yield f"subjects/{subject}/{subject}_{trial:02d}.amc"


COLLECTIONS: Final = {
    collection.name: collection
    for collection in (
        MotionCollection(
            "cmu",
            "about 2,500 clips, 10 hours, of more than 100 people: everyday life, sports, dance, two people together",
            CMU,
            ("allasfamc.zip",),
            CMU_TERMS,
            CMU_CREDIT,
            1100,
            4500,
        ),
        MotionCollection(
            "cmu-locomotion",
            "about 160 clips, 9 minutes, of 7 people of the CMU collection who walk, run, turn and jump",
            CMU,
            tuple(_select_locomotion()),
            CMU_TERMS,
            CMU_CREDIT,
            50,
            50,
        ),
        MotionCollection(
            "hdm05",
            "whole takes, 3 hours, of 5 people: locomotion, grabbing, sports, sitting and lying, gymnastics",
            HDM05,
            HDM05_ACTORS + tuple(f"{scene}/HDM_{scene}_amc.zip" for scene in HDM05_SCENES.split()),
            HDM05_TERMS,
            HDM05_CREDIT,
            400,
            1300,
        ),
        MotionCollection(
            "hdm05-cuts",
            "about 2,300 short clips of the same takes, one motion each, of 130 classes",
            HDM05,
            (*HDM05_ACTORS, "cuts/HDM05_cut_amc.zip"),
            HDM05_TERMS,
            HDM05_CREDIT,
            152,
            600,
        ),
    )
}
