"""The profiles in configs/: each starts a broker, on which it has the effect that it promises."""

import random
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from confluent_kafka import Producer

from broker_lite.settings import BROKER_SETTINGS, ConfigSource, Settings, load_settings
from broker_lite.wire import messages
from tests.support.broker_process import BrokerProcess
from tests.support.handler_broker import one
from tests.support.raw_client import RawClient
from tests.tidy.project_files import ROOT

PROFILES = sorted((ROOT / "configs").glob("*.toml"))
BROKER_RESOURCE = 4
METADATA, CONSUMER_GROUP_HEARTBEAT = 3, 68
WAIT_S = 30
WEEK_MS = 7 * 24 * 3_600_000

Start = Callable[[str], BrokerProcess]

pytestmark = pytest.mark.slow


def profile(name: str) -> Path:
    return ROOT / "configs" / f"{name}.toml"


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts a broker with a profile, and stops it at the end."""
    with ExitStack() as stack:
        yield lambda name: stack.enter_context(
            BrokerProcess(tmp_path / "data", arguments=("--config", str(profile(name))))
        )


def produce(broker: BrokerProcess, topic: str, *, value: bytes = b"v", timestamp: int = 0) -> None:
    producer = Producer(
        {"bootstrap.servers": broker.bootstrap, "message.max.bytes": 10_000_000, "linger.ms": 0}
    )
    errors = []
    producer.produce(
        topic, value, timestamp=timestamp, on_delivery=lambda error, _: errors.append(error)
    )
    assert producer.flush(WAIT_S) == 0
    assert errors == [None]


def partition_count(client: RawClient, topic: str) -> int:
    kind = messages.MetadataRequest
    asked = [kind.MetadataRequestTopic(name=topic)]
    return len(one(client.call("Metadata", 9, topics=asked).topics).partitions)


@pytest.mark.parametrize("path", PROFILES, ids=lambda path: path.stem)
def test_a_broker_tells_each_setting_of_its_profile(path: Path, start: Start) -> None:
    expected = load_settings(path)
    broker = start(path.stem)
    resource = messages.DescribeConfigsRequest.DescribeConfigsResource(
        resource_type=BROKER_RESOURCE, resource_name="1"
    )
    with RawClient(broker.host, broker.port) as client:
        result = one(client.call("DescribeConfigs", 4, resources=[resource]).results)
    told = {config.name: config for config in result.configs}
    assert expected.given
    for name in expected.given:
        assert told[name].config_source == ConfigSource.STATIC_BROKER
        assert BROKER_SETTINGS[name].parse(told[name].value) == expected.value(name)


def test_default_changes_nothing() -> None:
    settings, defaults = load_settings(profile("default")), Settings()
    for name in settings.given:
        assert settings.value(name) == defaults.value(name)


@pytest.mark.parametrize("path", PROFILES, ids=lambda path: path.stem)
def test_a_profile_leaves_the_address_to_whoever_uses_it(path: Path) -> None:
    """One that named the loopback would be of no use in a container."""
    assert load_settings(path).given.keys().isdisjoint({"listeners", "advertised.listeners"})


def test_test_lets_group_members_ask_often(start: Start) -> None:
    """What a member of the new protocol is told is how long a rebalance takes."""
    broker = start("test")
    produce(broker, "t")
    with RawClient(broker.host, broker.port) as client:
        assert client.call("FindCoordinator", 1, key="g").error_code == 0
        joined = client.call(
            "ConsumerGroupHeartbeat",
            1,
            group_id="g",
            member_id="m",
            member_epoch=0,
            rebalance_timeout_ms=1000,
            subscribed_topic_names=["t"],
            topic_partitions=[],
        )
        assert (joined.error_code, joined.heartbeat_interval_ms) == (0, 100)
        assert partition_count(client, "__consumer_offsets") == 1


def test_durable_has_records_on_disk_when_they_are_acknowledged(start: Start) -> None:
    """Only a flush moves the recovery point of an active segment, so the checkpoint shows it."""
    broker = start("durable")
    for _ in range(3):
        produce(broker, "t")
    checkpoint = broker.data_dir / "recovery-point-offset-checkpoint"
    deadline = time.monotonic() + WAIT_S
    while not checkpoint.exists() or "t 0 3" not in checkpoint.read_text().splitlines():
        assert time.monotonic() < deadline, "no checkpoint with the records"
        time.sleep(0.05)


def test_load_takes_large_batches_into_several_partitions(start: Start) -> None:
    broker = start("load")
    produce(broker, "t", value=random.Random(1).randbytes(9_000_000))
    with RawClient(broker.host, broker.port) as client:
        assert partition_count(client, "t") == 12


def test_kafka_2_8_is_an_older_broker(start: Start) -> None:
    broker = start("kafka-2.8")
    produce(broker, "t", timestamp=time.time_ns() // 1_000_000 + WEEK_MS)
    with RawClient(broker.host, broker.port) as client:
        offered = {row.api_key: row.max_version for row in client.call("ApiVersions", 2).api_keys}
    assert offered[METADATA] == 11
    assert CONSUMER_GROUP_HEARTBEAT not in offered
