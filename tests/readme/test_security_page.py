"""The page about security: what it prints is what the broker prints, and its commands end well."""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.readme.printed_page import PrintedPage
from tests.support.broker_process import BrokerProcess
from tests.support.reference_kafka import run_tool
from tests.support.toolchain import require

TIMEOUT_S = 120
PAGE = PrintedPage("docs/use/security.md")
(PRINTED,) = PAGE.blocks("text")
PROPERTIES, TOKEN = PAGE.blocks("sh")
PROGRAM, LOGIN_PROGRAM = PAGE.blocks("python")
LOGIN_SETTINGS = """
listeners=SASL://127.0.0.1:0
listener.security.protocol.map=SASL:SASL_PLAINTEXT
listener.name.sasl.sasl.enabled.mechanisms=PLAIN
listener.name.sasl.plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule \\
  required user_alice="alice-secret";
"""


def serve(data_dir: Path) -> BrokerProcess:
    return BrokerProcess(data_dir, arguments=("--security", "sasl_ssl", "--control", "127.0.0.1:0"))


def printed_by(command: str, broker: BrokerProcess, folder: Path) -> str:
    """What a command of the page prints, with the port of this control API."""
    port = broker.control_url.rpartition(":")[2]
    words = shlex.split(command.replace(":9099", f":{port}"))
    require(words[0])
    done = subprocess.run(
        words, cwd=folder, capture_output=True, text=True, check=True, timeout=TIMEOUT_S
    )
    return done.stdout


def without_numbers(text: str) -> list[str]:
    """Lines without what differs from start to start."""
    text = re.sub(r"(?<=:)\d{4,5}\b|(?<=in )\d+|(?<=broker-lite )[\d.]+", "N", text)
    return re.sub(r"=\S*/(?=broker-lite-ca)", "=DIRECTORY/", text).splitlines()


def test_what_is_printed(tmp_path: Path) -> None:
    command = [
        *(sys.executable, "-m", "broker_lite", "serve", "--port", "29192"),
        *("--control", "127.0.0.1:0", "--data-dir", str(tmp_path), "--security", "sasl_ssl"),
    ]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdout is not None
        printed = ""
        while "ssl.truststore.location" not in printed:
            line = process.stdout.readline()
            assert line, printed
            printed += line
        process.terminate()
    assert without_numbers(printed.replace("127.0.0.1:0/", "127.0.0.1:N/")) == without_numbers(
        PRINTED
    )


@pytest.mark.kafka
def test_the_properties_are_all_that_a_tool_of_kafka_needs(tmp_path: Path) -> None:
    require("java", "mvn", "curl")
    fetch, use = PROPERTIES.splitlines()
    with serve(tmp_path / "data") as broker:
        printed_by(fetch, broker, tmp_path)
        words = shlex.split(use.replace("localhost:9092", f"localhost:{broker.port}"))
        words[words.index("client.properties")] = str(tmp_path / "client.properties")
        assert words[0] == "kafka-topics.sh"
        assert run_tool("org.apache.kafka.tools.TopicCommand", *words[1:]).strip() == ""


def test_a_token_is_issued(tmp_path: Path) -> None:
    require("curl")
    with serve(tmp_path / "data") as broker:
        told = json.loads(printed_by(TOKEN, broker, tmp_path))
    assert told["token_type"] == "Bearer"


@pytest.mark.client
def test_the_program_ends_well(tmp_path: Path) -> None:
    file = tmp_path / "program.py"
    file.write_text(PROGRAM)
    subprocess.run([sys.executable, str(file)], check=True, timeout=TIMEOUT_S)


def test_the_program_that_logs_in_ends_well(tmp_path: Path) -> None:
    (tmp_path / "server.properties").write_text(LOGIN_SETTINGS)
    file = tmp_path / "program.py"
    file.write_text(f"from broker_lite.testing import Broker\n{LOGIN_PROGRAM}")
    subprocess.run([sys.executable, str(file)], check=True, timeout=TIMEOUT_S, cwd=tmp_path)
