import logging
from pathlib import Path

import pytest

from broker_lite.errors import SettingsError
from broker_lite.settings import ConfigSource, Settings, load_settings, parse_assignment, with_flag


def test_later_wins(tmp_path: Path) -> None:
    path = tmp_path / "server.properties"
    path.write_text("num.partitions=2\nlog.retention.ms=2\nmax.connections=2\nfetch.max.bytes=2000")
    settings = load_settings(
        path,
        {
            "KAFKA_LOG_RETENTION_MS": "3",
            "KAFKA_MAX_CONNECTIONS": "3",
            "KAFKA_FETCH_MAX_BYTES": "3000",
        },
        [("max.connections", "4"), ("fetch.max.bytes", "4000")],
        flags={"fetch.max.bytes": ("5000", "--flag")},
    )
    assert settings.num_partitions == 2
    assert settings.log_retention_ms == 3
    assert settings.max_connections == 4
    assert settings.fetch_max_bytes == 5000
    assert settings.origin_of("num.partitions") == str(path)
    assert settings.origin_of("log.retention.ms") == "KAFKA_LOG_RETENTION_MS"
    assert settings.origin_of("max.connections") == "--set"
    assert settings.origin_of("fetch.max.bytes") == "--flag"
    assert settings.source_of("fetch.max.bytes") is ConfigSource.STATIC_BROKER


def test_nothing_is_the_defaults() -> None:
    assert load_settings() == Settings()


def test_surroundings_are_weaker_than_all_else(tmp_path: Path) -> None:
    path = tmp_path / "server.properties"
    path.write_text("num.partitions=2")
    settings = load_settings(
        path,
        {"KAFKA_LOG_RETENTION_MS": "3"},
        surroundings={
            "num.partitions": ("7", "the image"),
            "log.retention.ms": ("7", "the image"),
            "fetch.max.bytes": ("7000", "the image"),
        },
    )
    assert (settings.num_partitions, settings.log_retention_ms) == (2, 3)
    assert settings.fetch_max_bytes == 7000
    assert settings.origin_of("fetch.max.bytes") == "the image"


def test_zookeeper_is_not_missed() -> None:
    warnings: list[str] = []
    load_settings(None, {"KAFKA_ZOOKEEPER_CONNECT": "zookeeper:2181"}, warnings=warnings)
    told = "KAFKA_ZOOKEEPER_CONNECT: zookeeper.connect: broker-lite needs no ZooKeeper; ignored"
    assert warnings == [told]


KAFKAS_OWN = """
process.roles=broker,controller
node.id=1
controller.quorum.bootstrap.servers=localhost:9093
listeners=PLAINTEXT://:9092,CONTROLLER://:9093
inter.broker.listener.name=PLAINTEXT
advertised.listeners=PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_SSL:SASL_SSL
num.network.threads=3
num.io.threads=8
socket.send.buffer.bytes=102400
socket.receive.buffer.bytes=102400
socket.request.max.bytes=104857600
log.dirs=/srv/kraft-combined-logs
num.partitions=1
num.recovery.threads.per.data.dir=1
offsets.topic.replication.factor=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
log.retention.hours=168
log.segment.bytes=1073741824
log.retention.check.interval.ms=300000
"""


def test_the_file_that_kafka_ships_has_no_unknown_name(tmp_path: Path) -> None:
    path = tmp_path / "server.properties"
    path.write_text(KAFKAS_OWN)
    warnings: list[str] = []
    load_settings(path, warnings=warnings)
    assert warnings == []


def test_unknown_names_of_kafka_are_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "server.properties"
    path.write_text("remote.log.reader.threads=2\nlog.segmentbytes=1")
    warnings: list[str] = []
    load_settings(path, {"KAFKA_NOSUCH": "1"}, warnings=warnings)
    assert warnings == [
        f"{path}: remote.log.reader.threads has no effect here",
        f"{path}: unknown setting log.segmentbytes (did you mean log.segment.bytes?); ignored",
        "KAFKA_NOSUCH: unknown setting nosuch; ignored",
    ]
    with caplog.at_level(logging.WARNING, "broker_lite.settings"):
        load_settings(None, {"KAFKA_NOSUCH": "1"})
    assert caplog.messages == ["KAFKA_NOSUCH: unknown setting nosuch; ignored"]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("nosuch", "1", "--set: unknown setting nosuch"),
        ("security.providers", "x", "--set: security.providers asks for security"),
        ("remote.log.reader.threads", "2", "--set: remote.log.reader.threads has no effect here"),
        (
            "log.retension.ms",
            "1",
            "--set: unknown setting log.retension.ms (did you mean log.retention.ms?)",
        ),
        (
            "retention.ms",
            "1",
            "--set: unknown setting retention.ms"
            " (it is a setting of topics; set their default by log.retention.ms)",
        ),
        (
            "num.partitions",
            "x",
            "--set: Invalid value x for configuration num.partitions:"
            " Not a number of type INT (allowed: at least 1)",
        ),
        (
            "num.partitions",
            "0",
            "--set: Invalid value 0 for configuration num.partitions: Value must be at least 1",
        ),
        ("log.retention.ms", "0", "log.retention.ms must be unlimited"),
        ("log.dirs", "/a,/b", "--set: log.dirs: broker-lite keeps its data in one directory"),
        ("node.id", "-3", "--set: Invalid value -3 for configuration node.id: Value must be at"),
        ("listeners", "nonsense", "listeners: 'nonsense' is not NAME://HOST:PORT"),
    ],
)
def test_faults(name: str, text: str, message: str) -> None:
    with pytest.raises(SettingsError) as caught:
        load_settings(overrides={name: text})
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_unknown_name_in_our_file_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "broker.toml"
    path.write_text("log.segment.byte = 1")
    with pytest.raises(SettingsError, match=r"did you mean log\.segment\.bytes"):
        load_settings(path)


@pytest.mark.parametrize("name", ["node.id", "broker.id"])
def test_node_id_has_two_names(name: str) -> None:
    settings = load_settings(overrides={name: "7"})
    assert (settings.node_id, settings.broker_id) == (7, 7)


def test_negative_broker_id_is_none() -> None:
    settings = load_settings(overrides={"broker.id": "-1"})
    assert (settings.node_id, settings.broker_id) == (1, -1)


def test_a_flag_that_follows_from_the_others_reads_nothing_again(tmp_path: Path) -> None:
    path = tmp_path / "server.properties"
    path.write_text("num.partitions=2")
    settings = load_settings(path)
    path.unlink()
    changed = with_flag(settings, "log.dirs", "/data", "--data-dir")
    assert (changed.num_partitions, changed.log_dirs) == (2, ("/data",))
    assert changed.origin_of("log.dirs") == "--data-dir"
    with pytest.raises(SettingsError, match=r"^listeners: .* is not NAME://HOST:PORT"):
        with_flag(settings, "listeners", "nowhere", "--port")


def test_assignment() -> None:
    assert parse_assignment(" a.b = c=d ") == ("a.b", "c=d")
    for text in ("a", "=b", " = "):
        with pytest.raises(SettingsError, match="write name=value"):
            parse_assignment(text)
