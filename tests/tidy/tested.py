"""Which test files are a module's: its mirror, and those that say that they test it, too.

A test file says so at the end of its docstring, `Also tests: broker_lite.a.b.`, for modules that
have no file of their own because they are seen through another one only.
"""

import ast
import re
from functools import cache
from pathlib import Path
from typing import Final

from tests.tidy.project_files import python_files, tree_of

_ALSO_TESTS: Final = re.compile(r"^Also tests: ([\w.,\s]+?)\.$", re.MULTILINE)


def mirror(module: Path) -> Path:
    """Where a module's own tests stand: those of broker_lite/a/b.py in tests/a/test_b.py."""
    folder = module.relative_to("broker_lite").parent
    return Path("tests") / folder / f"test_{module.name}"


@cache
def also_tested() -> dict[Path, list[Path]]:
    """Modules that docstrings of test files name, with these files."""
    found: dict[Path, list[Path]] = {}
    for path in python_files("tests"):
        for names in _ALSO_TESTS.findall(ast.get_docstring(tree_of(path)) or ""):
            for name in re.split(r",\s+", names):
                found.setdefault(Path(*name.split(".")).with_suffix(".py"), []).append(path)
    return found
