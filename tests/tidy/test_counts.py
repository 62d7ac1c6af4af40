"""The counts count what they say; the figures themselves are for people."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tidy import counts
from tests.tidy.project_files import ROOT, python_files

SOURCE = '''"""What it is."""

from other import _hidden  # why


def find(position: int) -> int:
    """Find it.

    Rule: V-01 to V-03, S-04.

    See: V-09.
    """

    return first(
        position,
    )
'''


def test_lines_of_code() -> None:
    assert counts.code_lines(SOURCE, ast.parse(SOURCE)) == 5


def test_homes_and_citations(tmp_path: Path) -> None:
    module = tmp_path / "module.py"
    module.write_text(SOURCE)
    assert counts.rule_counts([module]) == ({1: 4, 0: 1}, {1: 5})


@pytest.mark.parametrize(
    ("line", "count"),
    [
        ("log._cache.clear()", 1),
        ("self._cache = made._replace(x=1).__dict__", 0),
        ("os._exit(1)", 0),
        ("from a import _b, c, _d", 2),
        ("monkeypatch.setattr(log, '_cache', 1)", 1),
        ("monkeypatch.setattr('a.b._c', 1)", 1),
        ("setattr(log, '_cache', 1)", 0),
    ],
)
def test_private_names(line: str, count: int) -> None:
    found = counts.private_uses_in(ast.parse(line))
    assert found == count


@pytest.mark.parametrize(
    ("step", "is_step"),
    [
        ("position += size_bytes", True),
        ("self.end += found.size_bytes", True),
        ("following = position + size_bytes", True),
        ("end = at + 12 + self.length", True),
        ("position = header.end_position", True),
        ("position += 1", False),
        ("count += size_bytes", False),
    ],
)
def test_steps_of_walkers(step: str, is_step: bool) -> None:
    function = f"def walk():\n    while True:\n        {step}"
    assert list(counts.stepping(ast.parse(function))) == ["walk"] * is_step


def test_known_walkers_are_found() -> None:
    found = counts.batch_walkers(python_files("broker_lite"))
    assert "record/framing.py walk" in found
    assert not [each for each in found if "_stream" in each]


def test_modules_on_the_path_of_a_request() -> None:
    command = [sys.executable, "-m", "tests.tidy.request_path"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    common = {"handler/dispatch.py", "server/client_connection.py", "protocol/framing.py"}
    assert common | {"handler/produce/api.py", "record/loops/scan.py"} <= set(found["Produce"])
    assert common | {"handler/fetch/api.py", "server/sendfile.py"} <= set(found["Fetch"])
