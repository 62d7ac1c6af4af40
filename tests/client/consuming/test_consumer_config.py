import pytest

from broker_lite.client.consuming.consumer_config import ConsumerConfig
from broker_lite.client.consuming.fetcher import EARLIEST, LATEST
from broker_lite.errors import SettingsError


def test_defaults() -> None:
    config = ConsumerConfig.read({})
    assert (config.client_id, config.reset, config.read_committed) == (
        "console-consumer",
        LATEST,
        False,
    )
    assert (config.group, config.group_protocol, config.instance_id) == (None, None, None)
    assert (config.create_topics, config.commit_interval_s) == (True, 5.0)


def test_what_is_given() -> None:
    config = ConsumerConfig.read(
        {
            "group.id": "g",
            "group.protocol": "CLASSIC",
            "group.instance.id": "i",
            "auto.offset.reset": "earliest",
            "isolation.level": "read_committed",
            "enable.auto.commit": "false",
            "fetch.min.bytes": "whatever",
        }
    )
    assert (config.group, config.group_protocol, config.instance_id) == ("g", "classic", "i")
    assert (config.reset, config.read_committed, config.commit_interval_s) == (EARLIEST, True, None)


def test_no_reset() -> None:
    assert ConsumerConfig.read({"auto.offset.reset": "none"}).reset is None


@pytest.mark.parametrize(
    "properties",
    [{"group.protocol": "share"}, {"isolation.level": "x"}, {"auto.commit.interval.ms": "-1"}],
)
def test_what_cannot_be(properties: dict[str, str]) -> None:
    with pytest.raises(SettingsError):
        ConsumerConfig.read(properties)
