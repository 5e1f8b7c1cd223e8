"""Clips on which constants are chosen, and clips on which they are reported: 40 each, of different people.

Of the CMU and HDM05 motions. Nobody of the test clips is in the database or in a tuning clip. Of the tuning people the
database has other takes, but for 11, 38 and bk, of whom it has none. No person is in both, so that some behaviours of a single
person are in one only: martial arts and window washing in tuning, basketball with a ball and sword in test, without a like in
the database. 09_09, 16_45 and the other clips that earlier constants were chosen on are tuning clips.
"""

from collections.abc import Sequence

from config.errors import DatabaseError


def _sort_clips(stems: dict[str, str]) -> dict[str, str]:
    """Return the behaviours of clips by their stems, in the order of people and takes; stems: by behaviour."""
    found = {stem: behaviour for behaviour, words in stems.items() for stem in words.split()}
    return dict(sorted(found.items(), key=lambda item: (item[0].startswith("HDM"), len(item[0].partition("_")[0]), item[0])))


TUNING = _sort_clips(
    {
        "walking": "05_01 07_05 07_08 07_12 16_15 16_18 35_14 38_01",
        "dancing": "05_02 05_12 05_18",
        "running": "09_06 09_09 16_45 35_17 HDM_bk_jogLeftCircle4StepsRstart_003_120",
        "transitions": "09_12 16_08",
        "everyday": (
            "11_01 14_06 14_10 14_24 14_28 29_03 HDM_bk_depositFloorR_007_120 HDM_bk_grabHighR_005_120 "
            "HDM_bk_rotateArmsBothBackward1Reps_005_120 HDM_bk_squat1Reps_013_120"
        ),
        "boxing": "14_02",
        "climbing": "14_21 14_33",
        "jumping": "16_03 16_05",
        "basketball": "29_07 HDM_bk_throwBasketball_004_120",
        "martial arts": "135_02 135_04 135_11 HDM_bk_kickLFront1Reps_007_120",
        "hopping": "HDM_bk_hopBothLegs1hops_013_120",
    }
)
TEST = _sort_clips(
    {
        "jumping": "01_01 02_04 49_04",
        "climbing": "01_02 01_08",
        "walking": "02_01 03_01 03_03 10_04 32_01 43_01 55_04 HDM_dg_sneak2StepsLStart_007_120",
        "boxing": "02_05",
        "everyday": (
            "02_06 49_06 49_18 HDM_dg_elbowToKnee1RepsLelbowStart_013_120 HDM_dg_grabHighR_011_120 "
            "HDM_dg_lieDownFloor_011_120 HDM_dg_rotateArmsBothBackward1Reps_009_120 HDM_dg_squat1Reps_025_120"
        ),
        "sword": "02_07 02_08",
        "basketball": "06_10 06_13 06_14",
        "hopping": "49_02",
        "dancing": "49_09 49_22 55_02",
        "running": "127_03 127_09 127_14 HDM_dg_jogLeftCircle4StepsRstart_008_120",
        "transitions": "127_04 127_17 127_21 127_29",
        "martial arts": "HDM_dg_kickLFront1Reps_013_120",
    }
)
QUICK = (
    *("05_18", "07_08", "09_09", "14_02", "16_15", "HDM_bk_kickLFront1Reps_007_120"),
    *("01_01", "02_05", "02_06", "55_02", "127_04", "HDM_dg_jogLeftCircle4StepsRstart_008_120"),
)
STARTS = {"14_02": 3000, "49_02": 1700}  # first frame, 0-based, of clips of which the beginning is not measured
UNKNOWN_PEOPLE = ("11", "38", "HDM_bk")  # of tuning clips, of whom nothing is in the database
SETS = ("tuning", "test")


def person(stem: str) -> str:
    """Return the person of a clip, as file names begin."""
    return stem[:6] if stem.startswith("HDM_") else stem.partition("_")[0]


def people_of_test() -> tuple[str, ...]:
    """Return the people of the test clips."""
    return tuple(dict.fromkeys(person(stem) for stem in TEST))


def left_out_of_sets() -> tuple[str, ...]:
    """Return the rules by which motion is left out of the database of both sets (`database.build.parse_leave_out`).

    Of 14_02 frames 1 to 2800 stay in.
    """
    people = (*people_of_test(), *UNKNOWN_PEOPLE)
    takes = [f"{stem}:2801-" if stem == "14_02" else stem for stem in TUNING if person(stem) not in people]
    return (*(f"{name}_*" for name in people), *takes)


def set_of(stem: str) -> str | None:
    """Return the set that a clip belongs to, None for no set."""
    return "tuning" if stem in TUNING else "test" if stem in TEST else None


def stems_of(names: Sequence[str]) -> dict[str, list[str]]:
    """Return the clips of named sets by title; `quick` is a few of each. Raises DatabaseError: no such set."""
    found: dict[str, list[str]] = {}
    for name in names:
        if name == "quick":
            found |= {f"{part}, quick": [stem for stem in QUICK if set_of(stem) == part] for part in SETS}
        elif name in SETS:
            found[name] = list(TUNING if name == "tuning" else TEST)
        else:
            raise DatabaseError(f"{name!r} is no set of clips; take tuning, test or quick")
    return found
