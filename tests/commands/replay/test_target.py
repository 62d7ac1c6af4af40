"""The topics that a replay writes to."""

import pytest

from broker_lite.client import Client, Refused
from broker_lite.client.topic_partitions import find_topics
from broker_lite.commands.configs.entries import TOPIC, describe_configs
from broker_lite.commands.replay.target import (
    parse_renames,
    prepare_topics,
    stamped_topics,
    target_names,
)
from broker_lite.errors import ClientError, SettingsError
from tests.support.command_line import CommandLine


def test_renames() -> None:
    renames = parse_renames(["a=b", "c=d=e"])
    assert renames == {"a": "b", "c": "d=e"}
    assert target_names(["a", "c", "x"], renames) == {"a": "b", "c": "d=e", "x": "x"}
    assert target_names(["a", "b"], {"a": "b", "b": "a"}) == {"a": "b", "b": "a"}


@pytest.mark.parametrize(
    ("texts", "told"),
    [
        (["a"], "--rename a: OLD=NEW is expected"),
        (["=b"], "--rename =b: OLD=NEW is expected"),
        (["a="], "--rename a=: OLD=NEW is expected"),
        (["a=b", "a=c"], "--rename a=c: there is another one for a"),
        (["y=b"], "--rename y=b: the log has no such topic"),
        (["a=x"], "a and x would both be written to x"),
    ],
)
def test_wrong_renames(texts: list[str], told: str) -> None:
    with pytest.raises(SettingsError) as caught:
        target_names(["a", "x"], parse_renames(texts))
    assert str(caught.value) == told


def test_topics_are_created_so_that_old_records_stay(bootstrap: str, topic: str) -> None:
    with Client(bootstrap) as client:
        assert prepare_topics(client, {topic: 3}) == [topic]
        assert prepare_topics(client, {topic: 2}) == []
        assert find_topics(client, [topic])[topic].partition_count == 3
        (entries,) = describe_configs(client, [(TOPIC, topic)]).values()
        assert {each.name: each.value for each in entries}["retention.ms"] == "-1"
        with pytest.raises(SettingsError, match="has 3 partitions in the broker, and 4 are needed"):
            prepare_topics(client, {topic: 4})


def test_what_the_broker_refuses(bootstrap: str) -> None:
    with Client(bootstrap) as client, pytest.raises((ClientError, Refused)):
        prepare_topics(client, {"no/topic": 1})


def test_topics_with_times_of_the_broker(bootstrap: str, topic: str, command: CommandLine) -> None:
    command.ok(
        *("topics", "--bootstrap-server", bootstrap, "--create", "--topic", topic),
        *("--config", "message.timestamp.type=LogAppendTime"),
    )
    with Client(bootstrap) as client:
        prepare_topics(client, {f"{topic}-2": 1})
        assert stamped_topics(client, [topic, f"{topic}-2"]) == [topic]
        assert stamped_topics(client, []) == []
