"""All specimens, by group; a new group is a module with `SPECIMENS` and a line here."""

from tests.zoo import boards, cases, clocks, foreign_rigs, lenses, marker_files, marker_sets, recordings, rigs
from tests.zoo.specimen import Specimen

GROUPS: dict[str, tuple[Specimen, ...]] = {
    "boards": boards.SPECIMENS,
    "lenses": lenses.SPECIMENS,
    "rigs": rigs.SPECIMENS,
    "foreign rigs": foreign_rigs.SPECIMENS,
    "marker files": marker_files.SPECIMENS,
    "clocks": clocks.SPECIMENS,
    "recordings": recordings.SPECIMENS,
    "marker sets": marker_sets.SPECIMENS,
    "cases": cases.SPECIMENS,
}
