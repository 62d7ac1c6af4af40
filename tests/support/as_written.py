"""Run the modules of the request path as they are written, in the processes that run tests.

A pytest plugin, named in pyproject.toml so that it comes before any module of the package. What is
compiled by mypyc can be neither measured by coverage nor changed by a test's monkeypatch. Brokers
that tests start as processes of their own run it compiled; so do all tests with COMPILED=1 in the
environment, without those that are marked as_written. What Cython compiles is tested in both forms
where it is at home.
"""

import os
import sys
import tomllib
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_file_location
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parents[2]
_PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
_LISTS: dict[str, list[str]] = _PROJECT["tool"]["broker-lite"]["compiled"]


def _modules(*lists: str) -> dict[str, Path]:
    return {
        path.removesuffix(".py").replace("/", "."): ROOT / path
        for name in lists
        for path in _LISTS[name]
    }


MODULES = _modules("mypyc")
BY_CYTHON = _modules("cython", "cython-unchecked")


class AsWritten:
    """Finds the .py of a compiled module."""

    @staticmethod
    def find_spec(
        name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        return spec_from_file_location(name, MODULES[name]) if name in MODULES else None


if not os.environ.get("COMPILED"):
    sys.meta_path.insert(0, AsWritten)
