"""Installed away from the checkout, with a compiler and without."""

from pathlib import Path

import pytest

from broker_lite import __version__
from tests.packaging.environment import Environment, ProgramFailed
from tests.readme.snippets import Program
from tests.support.broker_process import BrokerProcess

pytestmark = pytest.mark.slow

SCAN_FILE = "from broker_lite.record import scan; print(scan.__file__)"


def check_broker(environment: Environment, folder: Path) -> None:
    """Start the installed broker and let a client write and read."""
    program = (str(environment.programs / "broker-lite"),)
    with BrokerProcess(folder / "data", program=program) as broker:
        client = Program("Python", folder, f"localhost:{broker.port}")
        client.prepare()
        assert client.run() == "hello from Python\n"


def test_without_compiler(pure: Environment, tmp_path: Path) -> None:
    assert pure.run("broker-lite", "--version") == f"broker-lite {__version__} (scan: python)\n"
    check_broker(pure, tmp_path)


def test_with_compiler(native: Environment, tmp_path: Path) -> None:
    assert native.run("broker-lite", "--version") == f"broker-lite {__version__} (scan: native)\n"
    assert Path(native.run("python", "-c", SCAN_FILE)).is_relative_to(native.programs.parent)
    check_broker(native, tmp_path)


def test_a_compiler_can_be_required(sdist: Path, builder: Environment, tmp_path: Path) -> None:
    options = ("--no-deps", "--no-build-isolation", "--wheel-dir", tmp_path)
    with pytest.raises(ProgramFailed, match=r"error: .*cc'"):
        builder.pip("wheel", *options, sdist, BROKER_LITE_NATIVE="require")
