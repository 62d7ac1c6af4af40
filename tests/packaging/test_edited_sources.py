"""Sources that were edited beside what was compiled from them: what runs is what one reads.

A small package is compiled in place by the project's own setup.py, by both compilers.
"""

import os
import shlex
import shutil
import sysconfig
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

import pytest

from tests.packaging.environment import Environment, run
from tests.support.toolchain import require
from tests.tidy.project_files import ROOT

pytestmark = pytest.mark.slow

LISTS: Final = """
[tool.broker-lite.compiled]
cython = ["broker_lite/counted.py"]
cython-unchecked = ["broker_lite/counter.py"]
mypyc = ["broker_lite/room/caller.py", "broker_lite/called.py"]
"""
SOURCES: Final = MappingProxyType({
    # mypyc: one module calls the C function of the other, and writes a constant of a third
    "called.py": "def called() -> str:\n    return 'called 1'\n",
    "room/__init__.py": "",
    "room/caller.py": (
        "from broker_lite.called import called\n"
        "from broker_lite.limits import LIMIT\n"
        "def calls() -> str:\n    return f'{called()}, limit {LIMIT}'\n"
    ),
    "limits.py": "from typing import Final\nLIMIT: Final = 1\n",
    # Cython: one module takes the C type of the other
    "counter.py": "class Counter:\n    def __init__(self):\n        self.value = 1\n",
    "counter.pxd": "cdef class Counter:\n    cdef public long value\n",
    "counted.py": (
        "from broker_lite.counter import Counter\n"
        "def counts():\n    counter = Counter()\n    return f'counted {counter.value}'\n"
    ),
    "counted.pxd": (
        "cimport cython\nfrom broker_lite.counter cimport Counter\n"
        "@cython.locals(counter=Counter)\ncpdef counts()\n"
    ),
})  # fmt: skip
SHOW: Final = """
from broker_lite import called, counted, counter
from broker_lite.room import caller
print(caller.calls(), counted.counts(), sep=", ")
modules = {"caller": caller, "called": called, "counter": counter, "counted": counted}
print(*(name for name, module in modules.items() if module.__file__.endswith(".so")))
"""
ALL: Final = "caller called counter counted"


@pytest.fixture(scope="module")
def compiled(builder: Environment, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The small package as the build leaves it."""
    require(shlex.split(sysconfig.get_config_var("CC") or "cc")[0])
    folder = tmp_path_factory.mktemp("small")
    shutil.copy(ROOT / "setup.py", folder)
    shutil.copytree(ROOT / "broker_lite", folder / "broker_lite", ignore=all_but_watching)
    (folder / "pyproject.toml").write_text(f'[project]\nname = "small"\nversion = "1"\n{LISTS}')
    for name, text in SOURCES.items():
        path = folder / "broker_lite" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, "utf-8")
    run(
        *(builder.programs / "python", "setup.py", "--quiet", "build_ext", "--inplace"),
        folder=folder,
        environ={
            **builder.environ,
            "PATH": os.environ["PATH"],
            "CFLAGS": "-O0",
            "BROKER_LITE_NATIVE": "require",
        },
    )
    shutil.rmtree(folder / "build")
    return folder


def all_but_watching(folder: str, names: list[str]) -> set[str]:
    """All of the real package but what chooses the form of a module."""
    return set(names) - {"__init__.py", "native.py"}


def shown(builder: Environment, folder: Path) -> list[str]:
    """What the package does, and the modules that run compiled."""
    return builder.run("python", "-c", SHOW, folder=folder).splitlines()


@pytest.mark.parametrize(
    ("edits", "does", "still_compiled"),
    [
        ({}, "called 1, limit 1, counted 1", ALL),
        (
            {"called.py": ("called 1", "called 2")},
            "called 2, limit 1, counted 1",
            "counter counted",
        ),
        ({"limits.py": ("= 1", "= 2")}, "called 1, limit 2, counted 1", "counter counted"),
        ({"counter.py": ("= 1", "= 2")}, "called 1, limit 1, counted 2", "caller called"),
        ({"counter.pxd": ("long", "int")}, "called 1, limit 1, counted 1", "caller called"),
        (
            {"counted.py": ("counted {", "tallied {")},
            "called 1, limit 1, tallied 1",
            "caller called counter",
        ),
        (
            {"room/caller.py": (", limit", ", below"), "counted.py": ("counted {", "tallied {")},
            "called 1, below 1, tallied 1",
            "counter",
        ),
    ],
    ids=["none", "called", "constant", "type", "declaration", "cython", "both"],
)
def test_an_edited_source_is_what_runs(
    compiled: Path,
    builder: Environment,
    tmp_path: Path,
    edits: Mapping[str, tuple[str, str]],
    does: str,
    still_compiled: str,
) -> None:
    folder = tmp_path / "edited"
    shutil.copytree(compiled, folder)
    for name, (old, new) in edits.items():
        path = folder / "broker_lite" / name
        text = path.read_text("utf-8")
        assert old in text
        path.write_text(text.replace(old, new), "utf-8")
    assert shown(builder, folder) == [does, still_compiled]


def test_it_is_said_in_one_line(compiled: Path, builder: Environment, tmp_path: Path) -> None:
    folder = tmp_path / "edited"
    shutil.copytree(compiled, folder)
    for name in ("called.py", "counter.py"):
        with (folder / "broker_lite" / name).open("a") as file:
            file.write("# edited\n")
    command = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {SHOW!r}], stderr=1)"
    first, *rest = builder.run("python", "-c", command, folder=folder).splitlines()
    assert first == (
        "called.py, counter.py changed after compiling, so 4 compiled modules run as plain Python, "
        "which is slower; `make build` compiles them again"
    )
    assert rest == ["called 1, limit 1, counted 1", ""]
