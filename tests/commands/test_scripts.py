"""broker-lite by the names of Kafka's scripts."""

import subprocess
import sys
from pathlib import Path

import pytest

from broker_lite import cli
from broker_lite.commands.scripts import SCRIPTS, as_command, script_names
from broker_lite.errors import SettingsError
from tests.support.command_line import TIMEOUT_S, environment


def test_every_name_is_that_of_a_command() -> None:
    assert {command[0] for command in SCRIPTS.values() if command} <= set(cli.COMMANDS)


@pytest.mark.parametrize("program", ["kafka-topics", "kafka-topics.sh"])
def test_a_script_s_name_is_a_command(program: str) -> None:
    assert as_command(program, ["--list"]) == ["topics", "--wait", "60", "--list"]


@pytest.mark.parametrize("program", ["broker-lite", "__main__.py", "kafka-topics.bat"])
def test_another_name_changes_nothing(program: str) -> None:
    assert as_command(program, ["topics", "--list"]) == ["topics", "--list"]


def test_the_server_s_script() -> None:
    arguments = ["server.properties", "--override", "node.id=2", "--override", "a=b"]
    expected = ["serve", "--config", "server.properties", "--set", "node.id=2", "--set", "a=b"]
    assert as_command("kafka-server-start.sh", arguments) == expected


@pytest.mark.parametrize("arguments", [[], ["-daemon", "server.properties"], ["--override", "a=b"]])
def test_the_server_s_script_without_a_file(arguments: list[str]) -> None:
    with pytest.raises(SettingsError, match="no FILE is given"):
        as_command("kafka-server-start", arguments)


@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("kafka.tools.GetOffsetShell", "offsets"),
        ("org.apache.kafka.tools.GetOffsetShell", "offsets"),
        ("kafka.admin.TopicCommand", "topics"),
    ],
)
def test_a_class_is_a_script(name: str, command: str) -> None:
    arguments = [name, "--bootstrap-server", "a:1"]
    assert as_command("kafka-run-class.sh", arguments)[0] == command


@pytest.mark.parametrize("arguments", [[], ["kafka.Fly", "x"]])
def test_another_class(arguments: list[str]) -> None:
    with pytest.raises(SettingsError, match="is not the class of a known script"):
        as_command("kafka-run-class", arguments)


def test_every_script_of_kafka_s_bin_is_there() -> None:
    """Kafka 4.3.1's, in its distribution and in its image."""
    listed = (Path(__file__).parent / "data" / "kafka-4.3.1-bin.txt").read_text().split()
    assert {name for name in script_names() if name.endswith(".sh")} == set(listed)


def link_of(folder: Path, name: str) -> Path:
    """A program of that name that starts broker-lite as an installed one does."""
    program = folder / "broker-lite"
    program.write_text(
        f"#!{sys.executable}\nimport sys\nfrom broker_lite.__main__ import main\nsys.exit(main())\n"
    )
    program.chmod(0o755)
    link = folder / name
    link.symlink_to(program)
    return link


def test_a_link_is_enough(tmp_path: Path, bootstrap: str, topic: str) -> None:
    link = link_of(tmp_path, "kafka-topics.sh")
    done = subprocess.run(
        [link, "--bootstrap-server", bootstrap, "--create", "--topic", topic],
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
        env=environment(),
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, f"Created topic {topic}.\n", "")


def test_the_names_are_printed() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "broker_lite.commands.scripts"],
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=True,
        env=environment(),
    )
    assert done.stdout.split() == script_names()
    assert {"kafka-storage", "kafka-storage.sh"} <= set(script_names())
