"""Installed away from the checkout, with a compiler and without."""

from pathlib import Path

import pytest

from broker_lite import __version__
from tests.packaging.environment import Environment, ProgramFailed
from tests.readme.snippets import PROGRAMS, Program
from tests.support.as_written import BY_CYTHON, MODULES
from tests.support.broker_process import BrokerProcess

pytestmark = pytest.mark.slow

# those that need pyarrow, which is an extra, are only found
FOUND = [name for name in MODULES if name.startswith("broker_lite.pipeline.")]
COMPILED = [name for name in (*BY_CYTHON, *MODULES) if name not in FOUND]
PRINT_FILES = """
import importlib, importlib.util, sys
loaded, found = map(str.split, sys.argv[1:])
for name in loaded:
    print(importlib.import_module(name).__file__)
for name in found:
    print(importlib.util.find_spec(name).origin)
"""


def files_of_compiled(environment: Environment) -> list[Path]:
    """Where an environment finds the modules that a compiler makes fast."""
    printed = environment.run("python", "-c", PRINT_FILES, " ".join(COMPILED), " ".join(FOUND))
    return [Path(line).relative_to(environment.programs.parent) for line in printed.splitlines()]


def check_broker(environment: Environment, folder: Path) -> None:
    """Start the installed broker and let a client write and read."""
    program = (str(environment.programs / "broker-lite"),)
    with BrokerProcess(folder / "data", program=program) as broker:
        client = Program(PROGRAMS["Python"], folder, f"localhost:{broker.port}")
        client.prepare()
        assert client.run() == "hello from Python\n"


def test_without_compiler(pure: Environment, tmp_path: Path) -> None:
    said = "scan: python, request path: python"
    assert pure.run("broker-lite", "--version") == f"broker-lite {__version__} ({said})\n"
    assert {path.suffix for path in files_of_compiled(pure)} == {".py"}
    check_broker(pure, tmp_path)


def test_with_compiler(native: Environment, tmp_path: Path) -> None:
    said = "scan: native, request path: native"
    assert native.run("broker-lite", "--version") == f"broker-lite {__version__} ({said})\n"
    assert {path.suffix for path in files_of_compiled(native)} == {".so"}
    check_broker(native, tmp_path)


def test_a_compiler_can_be_required(sdist: Path, builder: Environment, tmp_path: Path) -> None:
    options = ("--no-deps", "--no-build-isolation", "--wheel-dir", tmp_path)
    with pytest.raises(ProgramFailed, match=r"error: .*cc'"):
        builder.pip("wheel", *options, sdist, BROKER_LITE_NATIVE="require")
