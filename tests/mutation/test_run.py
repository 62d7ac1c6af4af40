"""A run over a small tree: who is killed, who survives, and what is left of it."""

from collections import Counter
from pathlib import Path

import pytest

from tests.mutation.run import (
    BROKEN,
    KILLED,
    ROOMS,
    SURVIVED,
    TIMED_OUT,
    Mutant,
    Run,
    Tree,
    all_mutants,
    chosen,
    copies,
    mirrored_tests,
    modules_of,
)
from tests.tidy.project_files import ROOT

MODULE = Path("broker_lite/log/toy.py")
FILES = {
    "conftest.py": "",
    "broker_lite/log/toy.py": """
def least(a, b):
    return a if a < b else b

def untested():
    return 1

def down(n):
    while n:
        n -= 1
""",
    "broker_lite/log/other.py": "ONE = 1\n",
    "tests/log/test_toy.py": """
import sys, os
sys.path.insert(0, os.getcwd() + "/broker_lite/log")
import toy

def test_least():
    assert toy.least(1, 2) == toy.least(2, 1) == 1
    toy.down(3)
""",
    "tests/log/test_other.py": "def test_it(): assert False\n",
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        path = tmp_path / "root" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "root"


def run(root: Path, *modules: Path) -> Run:
    mutants = all_mutants(root, modules)
    with copies(root, [Path(name) for name in FILES], 1) as trees:
        done = Run(root, mutants, trees)
        done.work()
    return done


@pytest.mark.slow
def test_outcomes(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mutants = [each for each in all_mutants(root, [MODULE]) if each.line < 8]
    with copies(root, [Path(name) for name in FILES], 2) as trees:
        done = Run(root, mutants, trees)
        done.work()
    assert Counter(done.outcomes.values()) == {KILLED: 2, SURVIVED: 3}
    survivors = {str(each) for each, outcome in done.outcomes.items() if outcome == SURVIVED}
    assert f"{MODULE}:3 #2: a < b  ->  a <= b" in survivors
    assert "survived: broker_lite/log/toy.py:6" in capsys.readouterr().out
    assert done.summary().endswith("all: 2 of 5 killed (40.0 %), 0 of them by time")
    assert (root / MODULE).read_text() == FILES[str(MODULE)]


@pytest.mark.slow
def test_mutants_that_hang_are_killed_by_time(root: Path, tmp_path: Path) -> None:
    [hanging] = [each for each in all_mutants(root, [MODULE]) if "n += 1" in each.change]
    tree = Tree(root, tmp_path / "copy", [Path(name) for name in FILES])
    assert tree.judge(hanging, mirrored_tests(root, MODULE), 10) == TIMED_OUT
    assert (tmp_path / "copy" / MODULE).read_text() == FILES[str(MODULE)]


@pytest.mark.slow
def test_tests_that_fail_anyway_judge_nothing(root: Path) -> None:
    done = run(root, Path("broker_lite/log/other.py"))
    assert list(done.outcomes.values()) == [BROKEN, BROKEN]
    assert "all: 0 of 0 killed (0.0 %)" in done.summary()


def test_a_seed_names_mutants(root: Path) -> None:
    first = chosen([MODULE], root, 1, 5)
    assert first == chosen([MODULE], root, 1, 5)
    assert first != chosen([MODULE], root, 2, 5)
    assert len(set(first)) == 5
    assert len(chosen([MODULE], root, 1, 10_000)) == len(all_mutants(root, [MODULE]))


@pytest.mark.parametrize("room", ROOMS)
def test_every_module_of_the_rooms_has_tests_to_judge_its_mutants(room: str) -> None:
    modules = modules_of([room])
    assert len(modules) > 20
    assert [module for module in modules if not mirrored_tests(ROOT, module)] == []


def test_mutants_tell_where_they_are() -> None:
    mutant = Mutant(MODULE, 3, 2, "a  ->  b")
    assert str(mutant) == "broker_lite/log/toy.py:2 #3: a  ->  b"
