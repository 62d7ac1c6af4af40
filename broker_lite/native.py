"""Runs a compiled module only if its source has not changed since.

A compiled module lies beside its source, and Python would import the compiled one. After an edit,
that would silently run the old code. So a build notes a hash of every source that it read. The
import of the first compiled module compares the sources with these hashes. Modules whose sources
have changed are imported from source instead, and one line says so. docs/internals/native.md
explains the build.
"""

import os
import sys
from collections.abc import Sequence
from importlib.machinery import EXTENSION_SUFFIXES, ExtensionFileLoader, ModuleSpec, PathFinder
from types import ModuleType
from typing import Final

SUMS: Final = f"native{EXTENSION_SUFFIXES[0].removesuffix('.so')}.sums"
"""The file in the package with the hashes; its name has the Python version of the build.

A line has a hash, a source (a path in the package), the part that it was compiled in (NOTHING if
none), and other parts that depend on it. A part is compiled as one: a single module, named by its
source (Cython), or all modules that call each other's C code (mypyc).
"""
NOTHING: Final = "-"
_NAMED_MAX: Final = 3


class CurrentModules:
    """Imports the modules of a package: the compiled form if it is current, else the source.

    It is in sys.meta_path in front of PathFinder.
    """

    def __init__(self, package: str, folder: str) -> None:
        self._prefix = f"{package}."
        self._folder = folder
        self._current: frozenset[str] | None = None  # sources

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Find a module; None if it is not in the package."""
        if not name.startswith(self._prefix):
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is None or not isinstance(spec.loader, ExtensionFileLoader):
            return spec
        if self._current is None:
            self._current = self._compare()
        source = f"{name.removeprefix(self._prefix).replace('.', '/')}.py"
        if source in self._current:
            return spec
        from importlib.util import spec_from_file_location

        return spec_from_file_location(name, os.path.join(self._folder, source))

    def _compare(self) -> frozenset[str]:
        """Return the sources whose compiled form is current; log the others."""
        try:
            with open(os.path.join(self._folder, SUMS), encoding="utf-8") as file:
                lines = [line.split() for line in file]
        except FileNotFoundError:
            _warn("no build noted the sources of the compiled modules, which all")
            return frozenset()
        changed = [line for line in lines if self._differs(line[1], line[0])]
        stale = {part for _, _, *parts in changed for part in parts}
        current = {source: part not in stale for _, source, part, *_ in lines if part != NOTHING}
        if changed:
            names = ", ".join(source for _, source, *_ in changed[:_NAMED_MAX])
            more = len(changed) - _NAMED_MAX
            count = sum(not is_current for is_current in current.values())
            names += f" and {more} more" if more > 0 else ""
            _warn(f"{names} changed after compiling, so {count} compiled modules")
        return frozenset(source for source, is_current in current.items() if is_current)

    def _differs(self, source: str, hashed: str) -> bool:
        from importlib.util import source_hash

        try:
            with open(os.path.join(self._folder, source), "rb", buffering=0) as file:
                return source_hash(file.readall()).hex() != hashed
        except FileNotFoundError:  # for instance, an image has no .pxd files
            return False


def watch(package: str, folder: str) -> None:
    """Use CurrentModules to import the modules of a package from now on."""
    finders = sys.meta_path
    place = finders.index(PathFinder) if PathFinder in finders else 0
    finders.insert(place, CurrentModules(package, folder))


def _warn(reason: str) -> None:
    from logging import getLogger

    getLogger(__name__).warning(
        "%s run as plain Python, which is slower; `make build` compiles them again", reason
    )
