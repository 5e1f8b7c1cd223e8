"""A contract of import-linter: from another folder, only the modules are imported that a room's `__init__` names.

The line is `Other folders import a, b.` in the docstring, where a and b are modules of the room. A room without it is closed.
"""

import ast
import re
from pathlib import Path

from grimp import ImportGraph
from importlinter import Contract, ContractCheck, output

LINE = re.compile(r"^Other folders import ([\w,\s]+)\.", re.MULTILINE)


def read_open_modules(room: str) -> frozenset[str]:
    """Return the modules that a room's `__init__` names."""
    text = Path(*room.split("."), "__init__.py").read_text("utf-8")
    found = LINE.search(ast.get_docstring(ast.parse(text)) or "")
    return frozenset() if found is None else frozenset(re.findall(r"\w+", found[1]))


class OpenModulesContract(Contract):
    """Every import from another top-level folder is of an open module, and every open module exists."""

    type_name = "open_modules"

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        """Check all imports."""
        modules = set(graph.modules)
        rooms = {module for module in modules if Path(*module.split("."), "__init__.py").is_file()}
        opened = {f"{room}.{name}" for room in rooms for name in read_open_modules(room)}
        faults = [f"{name}: is named by its room's __init__, but does not exist" for name in sorted(opened - modules)]
        for module in sorted(modules - rooms - opened):
            users = sorted(u for u in graph.find_modules_that_directly_import(module) if u.split(".")[0] != module.split(".")[0])
            faults += [f"{user} imports {module}, which the __init__ of its room does not name" for user in users]
        return ContractCheck(kept=not faults, metadata={"faults": faults})

    def render_broken_contract(self, check: ContractCheck) -> None:
        """Print what is wrong."""
        for fault in check.metadata["faults"]:
            output.print_error(fault)
