"""Which form of a module is found when sources changed after they were compiled."""

import logging
import sys
from importlib.machinery import EXTENSION_SUFFIXES, PathFinder
from importlib.util import source_hash
from pathlib import Path

import pytest

from broker_lite import native
from broker_lite.native import SUMS, CurrentModules

SUFFIX = EXTENSION_SUFFIXES[0]
# a and b are one part, which took a constant from names; c is one by itself, and d has types of c
PARTS = {
    "a.py": "group",
    "room/b.py": "group",
    "names.py": "- group",
    "c.py": "c.py d.py",
    "c.pxd": "- c.py d.py",
    "d.py": "d.py",
}
COMPILED = {
    name.removesuffix(".py").replace("/", ".") for name in ("a.py", "room/b.py", "c.py", "d.py")
}


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A package with files that are called like compiled modules; finding does not load them."""
    folder = tmp_path / "package"
    (folder / "room").mkdir(parents=True)
    for name in PARTS:
        (folder / name).write_text(f"NAME = {name!r}\n", "utf-8")
    for module in COMPILED:
        (folder / f"{module.replace('.', '/')}{SUFFIX}").touch()
    lines = (
        f"{source_hash((folder / name).read_bytes()).hex()} {name} {parts}\n"
        for name, parts in PARTS.items()
    )
    (folder / SUMS).write_text("".join(lines), "utf-8")
    return folder


def found_compiled(folder: Path) -> set[str]:
    """The modules that a new process would run in compiled form."""
    finder = CurrentModules("package", str(folder))
    compiled = set()
    for name in sorted({*COMPILED, "names"}):
        place = folder / name.replace(".", "/")
        spec = finder.find_spec(f"package.{name}", [str(place.parent)])
        assert spec is not None
        if spec.origin == f"{place}{SUFFIX}":
            compiled.add(name)
        else:
            assert spec.origin == f"{place}.py"
    return compiled


def test_current_modules_run_compiled_and_nothing_is_said(
    package: Path, caplog: pytest.LogCaptureFixture
) -> None:
    assert found_compiled(package) == COMPILED
    assert not caplog.records


@pytest.mark.parametrize(
    ("changed", "compiled", "said"),
    [
        ("a.py", {"c", "d"}, "a.py changed after compiling, so 2 compiled modules run"),
        ("names.py", {"c", "d"}, "names.py changed after compiling, so 2 compiled modules run"),
        ("c.py", {"a", "room.b"}, "c.py changed after compiling, so 2 compiled modules run"),
        ("c.pxd", {"a", "room.b"}, "c.pxd changed after compiling, so 2 compiled modules run"),
        ("d.py", {"a", "room.b", "c"}, "d.py changed after compiling, so 1 compiled modules run"),
        (
            "a.py c.py d.py names.py",
            set(),
            "a.py, names.py, c.py and 1 more changed after compiling, so 4 compiled modules run",
        ),
    ],
)
def test_what_was_made_of_a_changed_source_runs_as_it_is_written(
    package: Path,
    caplog: pytest.LogCaptureFixture,
    changed: str,
    compiled: set[str],
    said: str,
) -> None:
    for name in changed.split():
        (package / name).write_text("NAME = 'another'\n", "utf-8")
    assert found_compiled(package) == compiled
    (message,) = caplog.messages
    assert message.startswith(said)


def test_the_time_of_a_source_means_nothing(package: Path) -> None:
    for name in PARTS:
        (package / name).write_bytes((package / name).read_bytes())
    assert found_compiled(package) == COMPILED


def test_a_source_that_is_not_there_has_not_changed(package: Path) -> None:
    (package / "c.pxd").unlink()
    assert found_compiled(package) == COMPILED


def test_a_module_that_the_build_did_not_make_is_not_believed(package: Path) -> None:
    (package / "left_over.py").touch()
    (package / f"left_over{SUFFIX}").touch()
    spec = CurrentModules("package", str(package)).find_spec("package.left_over", [str(package)])
    assert spec is not None
    assert spec.origin == str(package / "left_over.py")


def test_without_hashes_no_compiled_module_is_believed(
    package: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (package / SUMS).unlink()
    assert found_compiled(package) == set()
    (message,) = caplog.messages
    assert message.startswith("no build noted the sources of the compiled modules")
    assert caplog.records[0].levelno == logging.WARNING


def test_other_packages_are_left_to_others(package: Path) -> None:
    finder = CurrentModules("package", str(package))
    assert finder.find_spec("packages.a", [str(package)]) is None
    assert finder.find_spec("package.missing", [str(package)]) is None


@pytest.mark.parametrize("others", [[], [PathFinder]], ids=["alone", "before_files"])
def test_it_comes_before_the_finder_of_files(
    monkeypatch: pytest.MonkeyPatch, others: list[object]
) -> None:
    monkeypatch.setattr(sys, "meta_path", ["first", *others] if others else [])
    native.watch("package", "folder")
    kinds = [finder if isinstance(finder, str) else type(finder) for finder in sys.meta_path]
    assert kinds == (["first", CurrentModules, type] if others else [CurrentModules])
