"""What all commands that ask a broker have in common, and what they say when there is none."""

import os
import signal
import socket
import subprocess
from pathlib import Path

import pytest

from broker_lite import __version__
from tests.support.broker_process import BrokerProcess
from tests.support.command_line import (
    TIMEOUT_S,
    CommandLine,
    environment,
    process_of,
    run_process,
)
from tests.support.reference_kafka import free_port
from tests.support.scripted_server import Script, ScriptedServer, read_request, wait_for_end

COMMANDS = {
    "topics": ("topics", "--list"),
    "configs": ("configs", "--describe", "--topic", "t"),
    "offsets": ("offsets",),
    "api-versions": ("api-versions",),
    "cluster": ("cluster", "cluster-id"),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_no_broker_there(command: CommandLine, name: str) -> None:
    address = f"127.0.0.1:{free_port()}"
    line = command.fails(*COMMANDS[name], "--bootstrap-server", address)
    assert line == f"1: {address}: connection refused"


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("localhost", "2: localhost: not an address HOST:PORT"),
        ("localhost:0", "2: localhost:0: not an address HOST:PORT"),
        ("localhost:70000", "2: localhost:70000: not an address HOST:PORT"),
        ("", "2: no bootstrap server is given"),
        (f"{'n' * 64}.invalid:9092", f"1: {'n' * 64}.invalid:9092: the host's name cannot be"),
    ],
)
def test_an_address_that_cannot_be_used(command: CommandLine, address: str, message: str) -> None:
    assert command.fails("topics", "--list", "--bootstrap-server", address).startswith(message)


def hang_up(_client: socket.socket) -> None:
    """Do nothing: the end of the script closes the connection."""


def greet(client: socket.socket) -> None:
    client.sendall(b"220 mail.example ESMTP\r\n")
    wait_for_end(client)


def send_a_huge_frame(client: socket.socket) -> None:
    read_request(client)
    client.sendall(b"\x7f\xff\xff\xff" + bytes(100))
    wait_for_end(client)


@pytest.mark.parametrize(
    ("script", "message"),
    [
        (hang_up, "the other side closed the connection|connection reset by peer|broken pipe"),
        (greet, "not a Kafka broker's answer"),
        (send_a_huge_frame, "not a Kafka broker's answer: an answer of 2147483647 bytes"),
        (wait_for_end, r"no answer within 0\.2 s"),
    ],
)
def test_a_server_that_is_no_kafka(
    command: CommandLine, tmp_path: Path, script: Script, message: str
) -> None:
    config = tmp_path / "client.properties"
    config.write_text("request.timeout.ms=200\n")
    with ScriptedServer(script) as server:
        at = ("--bootstrap-server", server.bootstrap, "--command-config", str(config))
        line = command.fails("topics", "--list", *at)
    assert line.startswith(f"1: {server.bootstrap}: ")
    assert any(words.replace("\\", "") in line for words in message.split("|"))


def test_several_addresses(command: CommandLine, bootstrap: str) -> None:
    addresses = f"127.0.0.1:{free_port()},{bootstrap}"
    assert command.ok("cluster", "cluster-id", "--bootstrap-server", addresses)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("security.protocol=TLS\n", "security.protocol=TLS: must be one of PLAINTEXT, SSL, SASL"),
        ("security.protocol=SASL_SSL\n", "sasl.mechanism is missing: it is one of PLAIN, SCRAM"),
        ("request.timeout.ms=soon\n", "request.timeout.ms=soon: not a number of milliseconds"),
    ],
)
def test_properties_that_cannot_be_used(
    command: CommandLine, tmp_path: Path, text: str, message: str
) -> None:
    config = tmp_path / "client.properties"
    config.write_text(text)
    line = command.fails("topics", "--list", "--command-config", str(config))
    assert line.startswith("2: ")
    assert message in line


def test_properties_that_are_not_there(command: CommandLine) -> None:
    line = command.fails("topics", "--list", "--command-config", "/nosuch")
    assert line == "2: /nosuch: No such file or directory"


@pytest.mark.parametrize("text", ["x", "-1", "nan", "inf"])
def test_what_is_no_time_to_wait(command: CommandLine, text: str) -> None:
    line = command.fails("topics", "--list", f"--wait={text}")
    assert line == f"2: argument --wait: {text} is not a number of seconds"


def test_waiting_for_a_broker(tmp_path: Path) -> None:
    port = free_port()
    arguments = ("topics", "--list", "--bootstrap-server", f"127.0.0.1:{port}", "--wait", "60")
    with (
        subprocess.Popen(
            process_of(arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()
        ) as waiting,
        BrokerProcess(tmp_path / "data", port=port),
    ):
        assert waiting.communicate(timeout=TIMEOUT_S) == (b"", b"")
    assert waiting.returncode == 0


def test_the_version(command: CommandLine, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        command("topics", "--version")
    assert ended.value.code == 0
    assert capsys.readouterr().out == f"{__version__}\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda each: each.name)
def test_a_signal_ends_it(number: signal.Signals) -> None:
    asked, asker = socket.socketpair()

    def tell_and_wait(client: socket.socket) -> None:
        read_request(client)
        asker.sendall(b"!")
        wait_for_end(client)

    with asked, asker, ScriptedServer(tell_and_wait) as server:
        arguments = ("topics", "--list", "--bootstrap-server", server.bootstrap)
        with subprocess.Popen(
            process_of(arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()
        ) as process:
            asked.settimeout(TIMEOUT_S)
            assert asked.recv(1) == b"!"
            os.kill(process.pid, number)
            assert process.communicate(timeout=TIMEOUT_S) == (b"", b"")
    # where Ctrl-C comes while a module is imported, Python may end by the signal itself, which a
    # shell shows as 130, too
    codes = (130, -signal.SIGINT) if number == signal.SIGINT else (-signal.SIGTERM,)
    assert process.returncode in codes


@pytest.mark.parametrize("name", COMMANDS)
def test_it_needs_no_event_loop(
    command: CommandLine, bootstrap: str, topic: str, name: str
) -> None:
    command.ok("topics", "--bootstrap-server", bootstrap, "--create", "--topic", topic)
    program = (
        "import sys; from broker_lite import cli;"
        " code = cli.main(sys.argv[1:]);"
        " print(*{'anyio', 'asyncio', 'uvloop'} & {*sys.modules}, file=sys.stderr); sys.exit(code)"
    )
    done = subprocess.run(
        [process_of(())[0], "-c", program, *COMMANDS[name], "--bootstrap-server", bootstrap],
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
        env=environment(),
    )
    assert (done.returncode, done.stderr) == (0, "\n")


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_who_reads_may_go(bootstrap: str, unbuffered: str) -> None:
    with subprocess.Popen(
        process_of(("api-versions", "--bootstrap-server", bootstrap)),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**environment(), "PYTHONUNBUFFERED": unbuffered},
    ) as process:
        assert process.stdout is not None
        process.stdout.close()
        assert process.stderr is not None
        assert process.stderr.read() == b""
    assert process.returncode == 1


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_full_disk_takes_no_output(bootstrap: str, unbuffered: str) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            process_of(("api-versions", "--bootstrap-server", bootstrap)),
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
            env={**environment(), "PYTHONUNBUFFERED": unbuffered},
        )
    assert (done.returncode, done.stderr) == (1, "broker-lite: No space left on device\n")


def test_as_a_process(bootstrap: str, topic: str) -> None:
    at = ("--bootstrap-server", bootstrap)
    assert run_process("topics", *at, "--create", "--topic", topic) == (
        0,
        f"Created topic {topic}.\n",
        "",
    )
