"""The files of the project: what git tracks, as text and as syntax trees, each read once."""

import ast
import subprocess
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
_NOT_OURS = {".git", ".venv", "__pycache__", "node_modules", "build", "dist", "target"}
_BINARY = {".png", ".so", ".gz", ".bin", ".pyc"}


@cache
def project_files() -> tuple[Path, ...]:
    """Every file that is in version control, relative to the root; without git, every file."""
    done = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if done.returncode == 0:
        names = [Path(name) for name in done.stdout.split("\0") if name]
    else:
        names = [path.relative_to(ROOT) for path in sorted(ROOT.rglob("*"))]
        names = [name for name in names if _NOT_OURS.isdisjoint(name.parts)]
    return tuple(name for name in names if (ROOT / name).is_file() and name.suffix not in _BINARY)


def python_files(*folders: str) -> list[Path]:
    """The Python modules below some top-level folders."""
    return [path for path in project_files() if path.suffix == ".py" and path.parts[0] in folders]


@cache
def text_of(path: Path) -> str:
    """The text of a file."""
    return (ROOT / path).read_text("utf-8")


@cache
def tree_of(path: Path) -> ast.Module:
    """The syntax tree of a module."""
    return ast.parse(text_of(path), str(path))
