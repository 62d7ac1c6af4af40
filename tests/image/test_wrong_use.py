"""What a person did wrong is one line, and exit code 2, in the container too."""

import re
import socket
from collections.abc import Sequence
from pathlib import Path

from tests.support.docker import Container


def ended_with_one_line(options: Sequence[str], pattern: str) -> None:
    """Expect a container with these options to end with exit code 2 and one such line."""
    with Container(options=options) as container:
        assert container.wait_for_end() == 2, container.log
        lines = container.log.splitlines()
    assert len(lines) == 1, lines
    assert re.fullmatch(f"broker-lite: {pattern}", lines[0]), lines[0]


def test_a_malformed_variable(image: str) -> None:
    options = ["--env=KAFKA_NUM_PARTITIONS=many"]
    ended_with_one_line(options, r"KAFKA_NUM_PARTITIONS: .*many.*")


def test_malformed_listeners(image: str) -> None:
    options = ["--env=KAFKA_LISTENERS=9092"]
    ended_with_one_line(options, r".*listeners: '9092' is not NAME://HOST:PORT")


def test_a_taken_port(image: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        options = ["--network=host", f"--env=KAFKA_LISTENERS=PLAINTEXT://{address}"]
        ended_with_one_line(options, rf".*{re.escape(address)}.* in use.*")


def test_a_file_of_settings_that_is_a_folder(image: str, tmp_path: Path) -> None:
    """Docker makes one of a file that is to be mounted and does not exist."""
    path = "/mnt/shared/config/server.properties"
    ended_with_one_line([f"--volume={tmp_path}/missing:{path}"], f"{path}: .*Is a directory")


def test_a_folder_without_write_permission(image: str, tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir(mode=0o755)
    options = [f"--volume={folder}:/data", "--user=12345:54321"]
    ended_with_one_line(options, r".*/data: Permission denied for 12345:54321")


def test_a_folder_that_is_read_only(image: str, volume: str) -> None:
    ended_with_one_line([f"--volume={volume}:/data:ro"], r".*/data.*Read-only file system.*")


def test_data_of_another_user(image: str, volume: str) -> None:
    options = [f"--volume={volume}:/data"]
    with Container("--topic", "mine", options=options) as container:
        container.wait_until_healthy()
        container.stop()
    options.append("--user=12345:54321")
    ended_with_one_line(options, r".*/data: Permission denied for 12345:54321")


def test_a_directory_locked_by_another_broker(image: str, volume: str) -> None:
    options = [f"--volume={volume}:/data"]
    with Container(options=options) as container:
        container.wait_until_healthy()
        ended_with_one_line(options, r".*/data.*another (broker|process).*")


def test_a_command_that_does_not_exist(image: str) -> None:
    with Container("no-such-program") as container:
        assert container.wait_for_end() == 2
        assert container.log == "broker-lite: no-such-program: No such file or directory\n"
