"""The basis of estimation for one subject: examples, and what finds the nearest of them."""

from dataclasses import dataclass

from calibration.subject import Subject
from database.graph import Graph, graph_of
from database.store import PoseDatabase
from reconstruct.example_cache import examples_and_lists
from reconstruct.examples import Examples, PoseTable
from reconstruct.lists import Lists
from reconstruct.search import Search


@dataclass(frozen=True, slots=True)
class Basis:
    """Examples, lists of alike markers, and the neighbour graph of the poses, None where the database has none."""

    examples: Examples
    lists: Lists
    graph: Graph | None

    def search(self) -> Search:
        """Give a search with a memory of its own."""
        return Search(self.examples, self.graph, self.lists)


def basis_for(subject: Subject, table: PoseTable) -> Basis:
    """Compute or fetch from the cache what estimation needs of a database. Raises DatabaseError: no poses, or a foreign graph."""
    examples, lists = examples_and_lists(subject, table)
    return Basis(examples, lists, graph_of(table) if isinstance(table, PoseDatabase) else None)
