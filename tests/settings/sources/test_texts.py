from pathlib import Path

import pytest

from broker_lite.errors import SettingsError
from broker_lite.settings.sources.texts import read_environment, read_file


def test_properties(tmp_path: Path) -> None:
    path = tmp_path / "server.properties"
    path.write_text("node.id=3\n")
    assert read_file(path) == {"node.id": "3"}


def test_toml(tmp_path: Path) -> None:
    path = tmp_path / "broker.toml"
    path.write_text(
        'num.partitions = 3\nlisteners = ["A://:1", "B://:2"]\n"node.id" = 4\n'
        "[log]\nretention.ms = -1\npreallocate = true\ncleaner.min.cleanable.ratio = 0.5\n"
    )
    assert read_file(path) == {
        "num.partitions": "3",
        "listeners": "A://:1,B://:2",
        "node.id": "4",
        "log.retention.ms": "-1",
        "log.preallocate": "true",
        "log.cleaner.min.cleanable.ratio": "0.5",
    }


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("a.toml", b"x = ", "Invalid value"),
        ("a.toml", b"x = 2000-01-01", "x: a value cannot be a date"),
        ("a.toml", b"x = [[1]]", "x: a value cannot be a list"),
        ("a.properties", b"\xff", "cannot be read: it is not UTF-8 text"),
        ("missing", None, "cannot be read: No such file or directory"),
    ],
)
def test_faults(tmp_path: Path, name: str, data: bytes | None, message: str) -> None:
    path = tmp_path / name
    if data is not None:
        path.write_bytes(data)
    with pytest.raises(SettingsError) as caught:
        read_file(path)
    assert message in str(caught.value)
    assert str(path) in str(caught.value)


def test_environment_as_the_image_reads_it() -> None:
    environment = {
        "PATH": "/bin",
        "KAFKA_LOG_SEGMENT_BYTES": "1",
        "KAFKA_A__B_C___D": "2",
        "KAFKA_HEAP_OPTS": "-Xmx1G",
        "KAFKA_LOG4J_ROOT_LOGLEVEL": "DEBUG",
        "KAFKA_OPTS": "",
        "KAFKA_JVM_PERFORMANCE_OPTS": "",
    }
    assert read_environment(environment) == {
        "log.segment.bytes": ("KAFKA_LOG_SEGMENT_BYTES", "1"),
        "a_b.c-d": ("KAFKA_A__B_C___D", "2"),
    }


def test_environment_as_other_images_read_it() -> None:
    environment = {
        "KAFKA_NODE_ID": "2",
        "KAFKA_CFG_NODE_ID": "1",
        "KAFKA_CFG_LOG_RETENTION_MS": "3",
        "KAFKA_ENABLE_KRAFT": "yes",
        "KAFKA_KRAFT_CLUSTER_ID": "x",
        "KAFKA_REST_BOOTSTRAP_SERVERS": "x",
        "KAFKA_CONFLUENT_SUPPORT_METRICS_ENABLE": "false",
        "KAFKA_JMX_PORT": "9101",
    }
    assert read_environment(environment) == {
        "node.id": ("KAFKA_NODE_ID", "2"),
        "log.retention.ms": ("KAFKA_CFG_LOG_RETENTION_MS", "3"),
    }
