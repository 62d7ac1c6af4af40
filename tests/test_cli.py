import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import broker_lite
from broker_lite import cli

ROOT = Path(__file__).parent.parent


def _run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    kept = {name: text for name, text in os.environ.items() if not name.startswith("KAFKA_")}
    return subprocess.run(
        [sys.executable, "-m", "broker_lite", *arguments],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
        cwd=ROOT,
        env={**kept, **environment},
    )


def test_version() -> None:
    done = _run("--version")
    assert re.fullmatch(r"broker-lite 0\.1\.0 \(scan: (native|python)\)\n", done.stdout)
    assert (done.returncode, done.stderr) == (0, "")


def test_version_is_the_package_s() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert project["tool"]["setuptools"]["dynamic"]["version"]["attr"] == "broker_lite.__version__"
    assert broker_lite.__version__ == "0.1.0"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "say what to do: serve, config or --version; --help tells more"),
        (["fly"], "invalid choice: 'fly'"),
        (["serve", "--fly"], "unrecognized arguments: --fly"),
        (["serve", "--port", "70000"], "70000 is not a port, 0 to 65535"),
        (["serve", "--port", "x"], "x is not a port, 0 to 65535"),
        (["serve", "--node-id", "x"], "--node-id: Invalid value x for configuration node.id"),
        (["serve", "--set", "a"], "--set a: write name=value"),
        (["serve", "--set", "nosuch=1"], "--set: unknown setting nosuch"),
        (["serve", "--config", "/nosuch"], "/nosuch: cannot be read: No such file or directory"),
        (["serve", "--log-level", "loud"], "--log-level: Invalid value loud"),
        (["serve", "--log-format", "xml"], "--log-format: Invalid value xml"),
        (["serve", "--host", "a,b"], "is not NAME://HOST:PORT"),
        (["serve", "--port", "0", "--data-dir", "/dev/null/x"], "data directory /dev/null/x: "),
        (["config", "--format", "yaml"], "invalid choice: 'yaml'"),
    ],
)
def test_a_person_s_error_is_one_line_and_code_2(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert re.fullmatch(r"broker-lite: [^\n]+\n", captured.err)
    assert message in captured.err


def test_config_tells_values_and_sources(tmp_path: Path) -> None:
    path = tmp_path / "server.properties"
    path.write_text("num.partitions=3\nnosuch=1\n")
    arguments = ("--config", str(path), "--set", "max.connections=9", "--format", "json")
    done = _run("config", *arguments, KAFKA_LOG_RETENTION_MS="5")
    assert done.returncode == 0
    assert done.stderr == f"broker-lite: {path}: unknown setting nosuch; ignored\n"
    found = {row["name"]: (row["value"], row["source"]) for row in json.loads(done.stdout)}
    assert found["num.partitions"] == ("3", str(path))
    assert found["max.connections"] == ("9", "--set")
    assert found["log.retention.ms"] == ("5", "KAFKA_LOG_RETENTION_MS")
    assert found["log.segment.bytes"] == ("1073741824", "default")


@pytest.mark.parametrize("form", ["table", "markdown"])
def test_config_prints(form: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["config", "--format", form]) == 0
    assert "auto.create.topics.enable" in capsys.readouterr().out


def test_reader_that_goes_away_is_no_error() -> None:
    command = f"{sys.executable} -m broker_lite config | head -1"
    done = subprocess.run(
        command, shell=True, capture_output=True, text=True, cwd=ROOT, timeout=30, check=False
    )
    assert done.stderr == ""
    assert done.stdout.startswith("NAME")


def test_nothing_of_the_server_is_imported_before_it_is_needed() -> None:
    program = (
        "import sys; from broker_lite.cli import main; main(['config']);"
        "sys.exit(any(name in sys.modules for name in ('asyncio', 'anyio', 'uvloop')))"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, timeout=30, check=False)
    assert done.returncode == 0
