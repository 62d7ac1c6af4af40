import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from broker_lite.cli import COMMANDS
from broker_lite.commands.container import unwrap
from tests.support.raw_client import RawClient

TIMEOUT_S = 30
READY = re.compile(r"broker-lite \S+ ready on 127\.0\.0\.1:(\d+) in \d+ ms")


def start(*arguments: str, **variables: str) -> subprocess.Popen[str]:
    """Start `broker-lite container`."""
    kept = {name: text for name, text in os.environ.items() if not name.startswith("KAFKA_")}
    return subprocess.Popen(
        [sys.executable, "-m", "broker_lite", "container", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**kept, "PYTHONWARNINGS": "error", **variables},
    )


def ended(*arguments: str, **variables: str) -> tuple[int, str, str]:
    """Run it to its end: exit code, standard output, standard error."""
    process = start(*arguments, **variables)
    out, err = process.communicate(timeout=TIMEOUT_S)
    return process.returncode, out, err


@pytest.fixture
def own_signals() -> Iterator[None]:
    """A command that runs in this process changes what SIGTERM does."""
    before = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, before)


def test_a_broker_tells_on_standard_output_what_start_scripts_wait_for(tmp_path: Path) -> None:
    process = start(
        KAFKA_LISTENERS="PLAINTEXT://127.0.0.1:0,CONTROLLER://127.0.0.1:0",
        KAFKA_LOG_DIRS=str(tmp_path),
        KAFKA_NODE_ID="7",
        KAFKA_BROKER_LITE_LOG_LEVEL="error",
        CLUSTER_ID="4L6g3nShT-eMCtK--X86sw",
    )
    assert process.stdout is not None
    lines = [process.stdout.readline() for _ in range(3)]
    ready = READY.match(lines[0])
    assert ready is not None
    with RawClient("127.0.0.1", int(ready[1])) as client:
        told = client.call("Metadata", 12, topics=[])
    assert told.cluster_id == "4L6g3nShT-eMCtK--X86sw"
    process.terminate()
    out, err = process.communicate(timeout=TIMEOUT_S)
    assert (process.returncode, out, err) == (0, "", "")
    # the patterns of Testcontainers' modules, for one line each
    for pattern in (
        r".*Transitioning from RECOVERY to RUNNING.*",
        r".*\[KafkaServer id=\d+\] started.*",
        r".*Kafka Server started.*",
    ):
        assert len([line for line in lines if re.match(pattern, line)]) == 1


def test_a_word_of_security_leaves_the_health_check_an_address(tmp_path: Path) -> None:
    process = start(
        KAFKA_LISTENERS="PLAINTEXT://127.0.0.1:0",
        KAFKA_LOG_DIRS=str(tmp_path),
        KAFKA_BROKER_LITE_SECURITY="sasl_ssl",
        KAFKA_BROKER_LITE_CONTROL="127.0.0.1:0",
    )
    assert process.stdout is not None
    lines = [process.stdout.readline()]
    while "Kafka Server started" not in lines[-1]:
        lines.append(process.stdout.readline())
        assert lines[-1], lines
    ready = READY.match(lines[0])
    assert ready is not None
    told = Path("/dev/shm/broker-lite.address").read_text()
    process.terminate()
    process.communicate(timeout=TIMEOUT_S)
    assert lines[1] == f"security: clients speak SASL_SSL to 127.0.0.1:{ready[1]}\n"
    assert told == f"tls:127.0.0.1:{ready[1]}"


def test_several_brokers_are_one_start(tmp_path: Path) -> None:
    process = start(
        KAFKA_LISTENERS="PLAINTEXT://127.0.0.1:0",
        KAFKA_LOG_DIRS=str(tmp_path),
        KAFKA_BROKER_LITE_BROKERS="3",
    )
    assert process.stdout is not None
    lines = [process.stdout.readline() for _ in range(3)]
    process.terminate()
    out, _ = process.communicate(timeout=TIMEOUT_S)
    assert (process.returncode, out) == (0, "")
    assert re.match(r"broker-lite \S+ ready on (127\.0\.0\.1:\d+[, ]){3}in \d+ ms$", lines[0])
    assert lines[1:] == [
        "[KafkaServer id=1] started, Transitioning from RECOVERY to RUNNING\n",
        "[KafkaServer id=1] Kafka Server started\n",
    ]


def test_flags_are_stronger_than_variables_and_these_than_a_file(tmp_path: Path) -> None:
    file = tmp_path / "server.properties"
    file.write_text("node.id=1\nnum.partitions=1\n")
    process = start(
        *("kafka-server-start.sh", str(file), "--override", "node.id=3"),
        KAFKA_LISTENERS="PLAINTEXT://127.0.0.1:0",
        KAFKA_LOG_DIRS=str(tmp_path / "data"),
        KAFKA_NODE_ID="2",
    )
    assert process.stdout is not None
    lines = [process.stdout.readline() for _ in range(3)]
    process.terminate()
    process.communicate(timeout=TIMEOUT_S)
    assert lines[2] == "[KafkaServer id=3] Kafka Server started\n"


def test_warnings_are_logged(tmp_path: Path) -> None:
    process = start(
        KAFKA_LISTENERS="PLAINTEXT://127.0.0.1:0",
        KAFKA_LOG_DIRS=f"{tmp_path / 'a'},{tmp_path / 'b'}",
        KAFKA_ZOOKEEPER_CONNECT="zookeeper:2181",
    )
    assert process.stdout is not None
    process.stdout.readline()
    process.terminate()
    _, err = process.communicate(timeout=TIMEOUT_S)
    warnings = [line.partition(" WARNING broker_lite.serve ")[2] for line in err.splitlines()]
    assert [line.partition(":")[0] for line in filter(None, warnings)] == [
        "KAFKA_LOG_DIRS",
        "KAFKA_ZOOKEEPER_CONNECT",
    ]
    assert not (tmp_path / "b").exists()


@pytest.mark.parametrize(
    ("arguments", "variables", "message"),
    [
        ([], {"KAFKA_NODE_ID": "x"}, "KAFKA_NODE_ID: Invalid value x for configuration node.id"),
        ([], {"CLUSTER_ID": "a b"}, "CLUSTER_ID: Invalid value a b"),
        ([], {"KAFKA_LISTENERS": "nonsense"}, "listeners: 'nonsense' is not NAME://HOST:PORT"),
        (["--fly"], {}, "unrecognized arguments: --fly"),
        (["/nosuch", "--fly"], {}, "/nosuch: No such file or directory"),
        (["kafka-server-start.sh"], {}, "kafka-server-start"),
    ],
)
def test_a_person_s_error_is_one_line_and_code_2(
    arguments: list[str], variables: dict[str, str], message: str
) -> None:
    code, out, err = ended(*arguments, **variables)
    assert (code, out) == (2, "")
    assert re.fullmatch(r"broker-lite: [^\n]+\n", err)
    assert message in err


def test_a_program_takes_the_place() -> None:
    assert ended("sh", "-c", "echo $0 $1; exit 3", "--fly", "x") == (3, "--fly x\n", "")


def test_other_commands_need_no_name_of_a_program() -> None:
    code, out, err = ended("config", "--format", "json")
    assert (code, err) == (0, "")
    assert '"node.id"' in out


@pytest.mark.usefixtures("own_signals")
@pytest.mark.parametrize(
    ("arguments", "command_line"),
    [
        ([], ["container"]),
        (["--port", "1"], ["container", "--port", "1"]),
        (["serve", "--port", "1"], ["container", "--port", "1"]),
        (["topics", "--list"], ["topics", "--list"]),
        (["/opt/kafka/bin/kafka-storage.sh", "random-uuid"], ["storage", "random-uuid"]),
    ],
)
def test_what_is_meant(arguments: list[str], command_line: list[str]) -> None:
    assert unwrap(arguments, COMMANDS) == command_line


@pytest.mark.usefixtures("own_signals")
@pytest.mark.parametrize(
    ("arguments", "code"), [([], 0), (["config"], 128 + signal.SIGTERM)], ids=["broker", "command"]
)
def test_sigterm_ends_what_may_be_process_1_from_its_beginning(
    arguments: list[str], code: int
) -> None:
    unwrap(arguments, COMMANDS)
    with pytest.raises(SystemExit) as caught:
        signal.raise_signal(signal.SIGTERM)
    assert caught.value.code == code
