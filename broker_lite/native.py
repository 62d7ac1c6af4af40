"""Compiled modules run only while their sources are what they were compiled from.

A compiled module lies beside its source, and Python imports the compiled one. After an edit that
would run code which nobody can read any more. So a build notes a hash of every source that it read.
When the first compiled module is imported, the sources are compared with that. What was made from
a source that differs is imported from its source instead, and one line says so.
docs/internals/native.md tells how a build works.
"""

import os
import sys
from collections.abc import Sequence
from importlib.machinery import EXTENSION_SUFFIXES, ExtensionFileLoader, ModuleSpec, PathFinder
from types import ModuleType
from typing import Final

SUMS: Final = f"native{EXTENSION_SUFFIXES[0].removesuffix('.so')}.sums"
"""The file in the package with the hashes; its name says for which Python it was compiled.

Each line has a hash, a source, the part that the source was compiled in (NOTHING, if in none), and
the other parts whose compiler read it. A part is compiled and runs as one: a single module, called
by its source (Cython), or all modules that call each other's C code (mypyc). Sources are paths in
the package.
"""
NOTHING: Final = "-"
_NAMED_MAX: Final = 3


class CurrentModules:
    """Finds the modules of a package: in compiled form if that is current, else their sources.

    It stands in sys.meta_path before the finder of files.
    """

    def __init__(self, package: str, folder: str) -> None:
        self._prefix = f"{package}."
        self._folder = folder
        self._current: frozenset[str] | None = None  # sources

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Find a module of the package, or None if it is none of the package."""
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
        """Give the sources whose compiled form is current; log which others there are."""
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
        except FileNotFoundError:  # an image has no .pxd, for one
            return False


def watch(package: str, folder: str) -> None:
    """Let the modules of a package be imported by CurrentModules."""
    finders = sys.meta_path
    place = finders.index(PathFinder) if PathFinder in finders else 0
    finders.insert(place, CurrentModules(package, folder))


def _warn(reason: str) -> None:
    from logging import getLogger

    getLogger(__name__).warning(
        "%s run as plain Python, which is slower; `make build` compiles them again", reason
    )
