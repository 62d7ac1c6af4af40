"""Where a replay goes on."""

from pathlib import Path

import pytest

from broker_lite.client import Client
from broker_lite.client.partition_offsets import commit
from broker_lite.client.producing.producer_config import ProducerConfig
from broker_lite.client.producing.transactional_producer import TransactionalProducer
from broker_lite.commands.replay.positions import Positions, fingerprint, left_to_do
from broker_lite.commands.replay.target import prepare_topics
from broker_lite.errors import SettingsError
from broker_lite.pipeline.read.ranges import OffsetRange
from tests.commands.shared.test_record_choice import chosen


def test_offsets_are_kept_with_and_without_a_transaction(bootstrap: str, topic: str) -> None:
    key = (topic, 0)
    positions = Positions(topic, "broker-lite replay x")
    with Client(bootstrap) as client:
        prepare_topics(client, {topic: 1})
        assert positions.read(client, [key]) == {}
        positions.commit(client, {key: 5})
        assert positions.read(client, [key]) == {key: 5}
        producer = TransactionalProducer(
            client,
            topic,
            ProducerConfig(),
            transactional_id=topic,
            timeout_ms=60_000,
            on_failure=pytest.fail,
        )
        producer.append(None, b"value")
        producer.commit(positions.offsets({key: 6}))
        producer.commit(positions.offsets({key: 7}))  # without a record
        assert positions.read(client, [key]) == {key: 7}


def test_an_id_that_is_taken(bootstrap: str, topic: str) -> None:
    key = (topic, 0)
    with Client(bootstrap) as client:
        prepare_topics(client, {topic: 1})
        Positions(topic, "broker-lite replay x").commit(client, {key: 5})
        with pytest.raises(SettingsError, match=f"--id {topic} is taken .* by other flags or of"):
            Positions(topic, "broker-lite replay y").read(client, [key])
        commit(client.connection(client.coordinator(topic)), topic, {key: 5})
        with pytest.raises(SettingsError, match="it is the name of a group"):
            Positions(topic, "broker-lite replay x").read(client, [key])


def test_each_choice_has_a_fingerprint_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "keys").write_text("b\na\n")
    choices = [
        ("logs",),
        ("others",),
        ("logs", "--key", "a"),
        ("logs", "--key", "a", "--key", "b"),
        ("logs", "--header", "a"),
        ("logs", "--header", "a="),
        ("logs", "--text", "a"),
        ("logs", "--json", "a"),
        ("logs", "--from", "1"),
        ("logs", "--until", "1"),
        ("logs", "--option", "isolationLevel=read_committed"),
    ]
    assert len({fingerprint(chosen(*words)) for words in choices}) == len(choices)
    same = chosen("logs", "--keys", str(tmp_path / "keys"))
    assert fingerprint(same) == fingerprint(chosen("logs", "--key", "a", "--key", "b"))
    assert Positions.of("id", same).metadata == f"broker-lite replay {fingerprint(same)}"


def test_what_is_left() -> None:
    key = ("t", 0)
    assert left_to_do(OffsetRange(5, 9), None, key, 5) == OffsetRange(5, 9)
    assert left_to_do(OffsetRange(5, 9), 5, key, 5) == OffsetRange(5, 9)
    assert left_to_do(OffsetRange(5, 9), 9, key, 5) == OffsetRange(9, 9)
    # records that are not wanted lie in between
    assert left_to_do(OffsetRange(8, 9), 6, key, 5) == OffsetRange(8, 9)
    with pytest.raises(SettingsError, match=r"^t-0: .* offset 10, and the log ends at 9: it is"):
        left_to_do(OffsetRange(5, 9), 10, key, 5)
    with pytest.raises(SettingsError, match=r"^t-0: .* offset 4, and the log begins at 5 now"):
        left_to_do(OffsetRange(5, 9), 4, key, 5)
