"""The command line: commands, settings, and how it ends.

Also tests: broker_lite.__main__, broker_lite.commands.config, broker_lite.commands.serve,
broker_lite.commands.shared.descriptors, broker_lite.commands.sources.
"""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import pytest

import broker_lite
from broker_lite import cli

ROOT = Path(__file__).parent.parent


@pytest.fixture(autouse=True)
def own_signals() -> Iterator[None]:
    """A command that runs in this process changes what signals do."""
    before = [(number, signal.getsignal(number)) for number in (signal.SIGTERM, signal.SIGINT)]
    yield
    for number, handler in before:
        signal.signal(number, handler)


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
    assert re.fullmatch(
        r"broker-lite 0\.1\.0 \(scan: (native|python), request path: (native|python)\)\n",
        done.stdout,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_version_is_the_package_s() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert project["tool"]["setuptools"]["dynamic"]["version"]["attr"] == "broker_lite.__version__"
    assert broker_lite.__version__ == "0.1.0"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "say what to do: a command or --version; --help tells more"),
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


class _Serving:
    """`broker-lite serve` with these arguments; a context manager, ended with a signal."""

    def __init__(self, *arguments: str, **environment: str) -> None:
        kept = {name: text for name, text in os.environ.items() if not name.startswith("KAFKA_")}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "broker_lite", "serve", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env={**kept, **environment},
        )

    def __enter__(self) -> "_Serving":
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()

    def ready_line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline()

    def end(self, number: int) -> tuple[int, str]:
        """Exit code and what is on standard error."""
        self.process.send_signal(number)
        _, errors = self.process.communicate(timeout=10)
        return self.process.returncode, errors


READY = re.compile(r"broker-lite 0\.1\.0 ready on 127\.0\.0\.1:(\d+) in (\d+) ms\n")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_serve_in_a_temporary_directory(number: signal.Signals, tmp_path: Path) -> None:
    with _Serving("--port", "0", TMPDIR=str(tmp_path)) as serving:
        ready = READY.fullmatch(serving.ready_line())
        assert ready is not None
        assert 0 < int(ready[2]) < 20_000
        with socket.create_connection(("127.0.0.1", int(ready[1])), timeout=5):
            (directory,) = tmp_path.iterdir()
        code, errors = serving.end(number)
    assert code == 0
    assert f"data directory is temporary, it is removed at exit path={directory}" in errors
    assert "Traceback" not in errors
    assert list(tmp_path.iterdir()) == []


def test_serve_keeps_a_directory_and_speaks_json(tmp_path: Path) -> None:
    directory = tmp_path / "a" / "data"
    arguments = ("--port", "0", "--data-dir", str(directory), "--log-format", "json")
    with _Serving(*arguments, KAFKA_NOSUCH="1") as serving:
        assert READY.fullmatch(serving.ready_line())
        code, errors = serving.end(signal.SIGTERM)
    assert code == 0
    assert directory.exists()
    events = [json.loads(line) for line in errors.splitlines()]
    assert events[0]["event"] == "KAFKA_NOSUCH: unknown setting nosuch; ignored"


def test_host_and_port_replace_those_of_the_first_listener(tmp_path: Path) -> None:
    path = tmp_path / "server.properties"
    path.write_text(
        "listeners=CONTROLLER://:9093,PLAINTEXT://example.invalid:9092,B://127.0.0.1:0\n"
    )
    mapping = "listener.security.protocol.map=PLAINTEXT:PLAINTEXT,B:PLAINTEXT"
    arguments = ("--config", str(path), "--set", mapping, "--host", "127.0.0.1", "--port", "0")
    with _Serving(*arguments, TMPDIR=str(tmp_path)) as serving:
        assert READY.fullmatch(serving.ready_line())
        assert serving.end(signal.SIGTERM)[0] == 0


def test_settings_may_come_through_a_pipe(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = Thread(target=path.write_text, args=("broker.lite.log.format=json\n",))
    writer.start()
    arguments = ("--config", str(path), "--port", "0")
    with _Serving(*arguments, TMPDIR=str(tmp_path)) as serving:
        assert READY.fullmatch(serving.ready_line())
        code, errors = serving.end(signal.SIGTERM)
    writer.join()
    assert code == 0
    assert all(json.loads(line) for line in errors.splitlines())


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_p16_more_signals_change_nothing(number: signal.Signals, tmp_path: Path) -> None:
    with _Serving("--port", "0", TMPDIR=str(tmp_path)) as serving:
        assert READY.fullmatch(serving.ready_line())
        for _ in range(1_000_000):
            if serving.process.poll() is not None:
                break
            serving.process.send_signal(number)
        code, errors = serving.end(number)
    assert (code, "Traceback" in errors) == (0, False)
    assert list(tmp_path.iterdir()) == []


def test_nobody_reads_the_ready_line(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "broker_lite", "serve", "--port", "0"]
    arguments = ["--data-dir", str(tmp_path)]
    with subprocess.Popen(
        command + arguments, stdout=writer, stderr=subprocess.PIPE, text=True, cwd=ROOT
    ) as process:
        os.close(writer)
        assert process.stderr is not None
        line = process.stderr.readline()
        assert re.fullmatch(
            r"broker-lite: ready on 127\.0\.0\.1:\d+; standard output: Broken pipe\n", line
        )
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=10)
    assert (process.returncode, "Traceback" in errors) == (0, False)


def test_closed_standard_descriptors_are_taken() -> None:
    script = (
        "import os\nos.close(0), os.close(1)\nfrom broker_lite import cli\n"
        "cli.main([])\nos.fstat(0), os.fstat(1)"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, timeout=30, check=False)
    assert done.returncode == 0


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_standard_descriptors_are_no_fault(closed: str) -> None:
    command = f"{sys.executable} -m broker_lite config {closed}"
    done = subprocess.run(command, shell=True, cwd=ROOT, capture_output=True, timeout=30)
    assert (done.returncode, done.stderr) == (0, b"")


def test_port_that_is_taken() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        done = _run("serve", "--port", str(other.getsockname()[1]))
    lines = [line for line in done.stderr.splitlines() if line.startswith("broker-lite: ")]
    assert (done.returncode, len(lines)) == (2, 1)
    assert "Traceback" not in done.stderr


def test_directory_that_is_in_use(tmp_path: Path) -> None:
    with _Serving("--port", "0", "--data-dir", str(tmp_path)) as serving:
        serving.ready_line()
        done = _run("serve", "--port", "0", "--data-dir", str(tmp_path))
        serving.end(signal.SIGTERM)
    assert (done.returncode, done.stdout) == (2, "")
    assert re.fullmatch(r"broker-lite: [^\n]+\n", done.stderr)


def test_ctrl_c_during_the_first_imports_is_no_traceback() -> None:
    program = (
        "import builtins, sys\n"
        "import broker_lite.__main__\n"
        "def interrupted(*_):\n"
        "    raise KeyboardInterrupt\n"
        "builtins.__import__ = interrupted\n"
        "sys.exit(broker_lite.__main__.main())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


def test_what_a_start_ends_with_names_the_file(tmp_path: Path) -> None:
    """An error that came from the system has no words of its own."""
    (tmp_path / "__cluster_metadata-0" / "partition.metadata").mkdir(parents=True)
    result = _run("serve", "--port", "0", "--data-dir", str(tmp_path))
    assert result.returncode == 1
    last = result.stderr.splitlines()[-1]
    assert last.startswith("broker-lite: [Errno 21] Is a directory")
    assert str(tmp_path / "__cluster_metadata-0" / "partition.metadata") in last
