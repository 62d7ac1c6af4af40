"""Transactions over a real data directory: what is kept, what a crash leaves, what fails."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from broker_lite.control.end_markers import RETRY_MS, STEP_MS
from broker_lite.control.state_topic import StateTopic
from broker_lite.control.topic_rules import NewTopic
from broker_lite.errors import CoordinatorLoadInProgress, InvalidTopic
from broker_lite.log.log import Log
from tests.control.transactor import STATE_PARTITION, TransactionBroker, failing

OFFSETS = ("__consumer_offsets", 3)


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[TransactionBroker]:
    broker = TransactionBroker(tmp_path / "data")
    yield broker
    broker.cluster.close(sync=False)


@pytest.mark.parametrize("commit", [True, False])
def test_t49_t52_an_end_is_complete_when_it_returns(
    broker: TransactionBroker, commit: bool
) -> None:
    producer = broker.begin()
    assert broker.open_transactions() == [True, True]
    outcome = broker.end(producer, commit=commit)
    assert (outcome.error, outcome.producer) == (0, (0, 1))
    assert broker.open_transactions() == [False, False]
    assert broker.state() == ("CompleteCommit" if commit else "CompleteAbort")


def test_t53_groups_are_told_after_their_marker(broker: TransactionBroker) -> None:
    producer = broker.init().producer
    assert broker.transactions.partition_of_group("g") == OFFSETS
    broker.add(producer, OFFSETS)
    assert broker.end(producer).error == 0
    assert broker.groups.completed == []  # the topic was never made
    StateTopic(broker.cluster, OFFSETS[0]).ensure()
    producer = (0, 1)
    broker.add(producer, OFFSETS)
    assert broker.end(producer, commit=False).error == 0
    assert broker.groups.completed == [(3, 0, False)]


def test_t21_a_fence_writes_markers_before_it_answers(broker: TransactionBroker) -> None:
    broker.begin()
    assert broker.init().error == 51
    assert broker.open_transactions() == [False, False]
    assert broker.state() == "CompleteAbort"
    assert broker.init().producer == (0, 2)


def test_t72_a_restart_keeps_everything(broker: TransactionBroker) -> None:
    producer = broker.begin()
    broker.init("idle")
    broker.restart()
    assert broker.state() == "Ongoing"
    assert broker.open_transactions() == [True, True]
    assert broker.transactions.verify("x", producer, [("t", 0), ("t", 5)]) == {
        ("t", 0): 0,
        ("t", 5): 120,
    }
    assert broker.end(producer).producer == (0, 1)
    broker.restart()
    assert broker.state() == "CompleteCommit"
    assert broker.state("idle") == "Empty"
    assert broker.init().producer == (0, 2)


def test_t60_a_timeout_counts_over_a_restart(broker: TransactionBroker) -> None:
    broker.begin()
    broker.now_ms += 900
    broker.restart()
    assert broker.transactions.next_deadline_ms() == broker.now_ms + 101
    broker.step(100)
    assert broker.state() == "Ongoing"
    broker.step(1)
    assert broker.state() == "CompleteAbort"
    assert broker.open_transactions() == [False, False]
    assert broker.init(expected=(0, 0)).producer == (0, 1)


def test_t64_ids_that_are_idle_are_forgotten_for_good(tmp_path: Path) -> None:
    broker = TransactionBroker(tmp_path / "data", transactional_id_expiration_ms="5000")
    names = [f"id-{number}" for number in range(30)]
    for name in names:
        broker.init(name)
    broker.step(4999)
    assert len(broker.transactions.all()) == 30
    broker.step(1)
    assert broker.transactions.all() == []
    broker.restart()
    assert broker.transactions.all() == []
    broker.cluster.close(sync=False)


def test_t72_a_kill_at_any_write_leaves_it_as_before_or_lets_it_be_finished(
    broker: TransactionBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before and after each of the writes of an end: prepare, two markers, complete."""
    producer = broker.begin()
    found: list[tuple[str, list[bool]]] = []

    def look() -> None:
        with pytest.MonkeyPatch.context() as unpatched:
            unpatched.setattr(StateTopic, "append", append)
            unpatched.setattr(Log, "append_control", append_control)
            after = broker.killed(len(found))
            found.append((after.state(), after.open_transactions()))
            after.cluster.close(sync=False)

    append, append_control = StateTopic.append, Log.append_control

    def watched_append(*args: Any, **options: Any) -> None:
        look()
        append(*args, **options)
        look()

    def watched_control(*args: Any, **options: Any) -> int:
        offset = append_control(*args, **options)
        look()
        return offset

    monkeypatch.setattr(StateTopic, "append", watched_append)
    monkeypatch.setattr(Log, "append_control", watched_control)
    assert broker.end(producer).error == 0
    before, finished = ("Ongoing", [True, True]), ("CompleteCommit", [False, False])
    assert found == [before] + [finished] * 5


def test_a_record_that_is_not_written_changes_nothing(
    broker: TransactionBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    producer = broker.begin()
    monkeypatch.setattr(broker.transactions.topic, "append", failing)
    assert broker.end(producer).error == 16
    assert broker.init().error == 16
    assert broker.add(producer, ("t", 9)) == 16
    assert broker.state() == "Ongoing"
    monkeypatch.undo()
    assert broker.end(producer).error == 0


def test_a_record_that_may_not_be_on_disk_counts(
    broker: TransactionBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    producer = broker.begin()
    append = broker.transactions.topic.append

    def append_but_not_on_disk(*args: Any, **options: Any) -> None:
        append(*args, **options)
        failing()

    monkeypatch.setattr(broker.transactions.topic, "append", append_but_not_on_disk)
    assert broker.end(producer).error == 16
    assert broker.state() == "PrepareCommit"
    broker.step(RETRY_MS)
    assert broker.state() == "CompleteCommit"
    monkeypatch.undo()
    assert broker.end(producer).producer == (0, 1)
    assert [broker.cluster.log("t", each).log_end_offset for each in (0, 1)] == [2, 2]


def test_what_a_failing_disk_costs_does_not_depend_on_the_log(
    broker: TransactionBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is not read again for a record that is known not to be in it."""
    producer = broker.begin()
    monkeypatch.setattr(broker.transactions.topic, "append", failing)
    monkeypatch.setattr(broker.transactions.topic, "replay_partition", failing)
    assert broker.end(producer).error == 16
    assert broker.init("new").error == 16
    broker.step(1001)
    assert (broker.state(), broker.state("new")) == ("Ongoing", "")
    monkeypatch.undo()
    broker.step(RETRY_MS)
    assert broker.state() == "CompleteAbort"


def test_t60_requests_that_fail_do_not_put_off_timeouts(
    broker: TransactionBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker.begin()
    append = broker.transactions.topic.append

    def append_to_others(partition: int, *args: Any, **options: Any) -> None:
        if partition != STATE_PARTITION:
            failing()
        append(partition, *args, **options)

    monkeypatch.setattr(broker.transactions.topic, "append", append_to_others)
    for _ in range(5):
        assert broker.init("y").error == 16
        broker.step(RETRY_MS // 2)
    assert broker.state() == "CompleteAbort"


def test_a_topic_that_cannot_be_made_is_15(
    broker: TransactionBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise InvalidTopic

    monkeypatch.setattr(broker.transactions.topic, "append", refuse)
    assert broker.init().error == 15


def test_a_transaction_that_is_too_large_for_its_record(tmp_path: Path) -> None:
    size = str(1 << 20)
    broker = TransactionBroker(tmp_path / "data", transaction_state_log_segment_bytes=size)
    producer = broker.init().producer
    many = [("t", partition) for partition in range(300_000)]
    assert broker.add(producer, *many) == -1
    assert broker.state() == "Empty"
    broker.cluster.close(sync=False)


def test_t50_a_start_finishes_however_many_markers_there_are(
    broker: TransactionBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = broker.cluster.plan_topic(NewTopic("wide", partition_count=300))
    broker.cluster.create_topics([plan])
    producer = broker.init().producer
    broker.add(producer, *[("wide", partition) for partition in range(300)])
    monkeypatch.setattr(Log, "append_control", failing)
    assert broker.end(producer).error == 0
    monkeypatch.undo()
    broker.restart()
    assert broker.state() == "CompleteCommit"
    assert broker.cluster.log("wide", 299).log_end_offset == 1


@pytest.mark.as_written
def test_t15_no_producer_id_is_14(
    broker: TransactionBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(broker.cluster, "next_producer_id", failing)
    broker.make()
    assert broker.init().error == 14


def test_a_timeout_that_cannot_be_written_is_tried_again(
    broker: TransactionBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker.begin()
    monkeypatch.setattr(broker.transactions.topic, "append", failing)
    broker.step(1001)
    assert broker.state() == "Ongoing"
    deadline_ms = broker.transactions.next_deadline_ms()
    assert deadline_ms == broker.clock.steady_ms() + RETRY_MS
    monkeypatch.undo()
    broker.step(RETRY_MS - 1)
    assert broker.state() == "Ongoing"
    broker.step(1)
    assert broker.state() == "CompleteAbort"


def test_a_marker_that_cannot_be_written_is_tried_again(
    broker: TransactionBroker, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    producer = broker.begin()
    monkeypatch.setattr(Log, "append_control", failing)
    assert broker.end(producer).producer == (0, 1)
    assert broker.state() == "PrepareCommit"
    assert broker.init().error == 51
    broker.step(RETRY_MS)
    assert [text for text in caplog.messages if "marker" in text] == [
        "marker not written topic=t partition=0 transactional_id=x reason=KafkaStorageError()"
    ]
    monkeypatch.undo()
    assert broker.transactions.next_deadline_ms() == broker.clock.steady_ms() + RETRY_MS
    broker.step(RETRY_MS)
    assert broker.state() == "CompleteCommit"
    assert broker.open_transactions() == [False, False]


def test_a_completion_that_cannot_be_written_is_tried_again(
    broker: TransactionBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    producer = broker.begin()
    append = broker.transactions.topic.append
    appended: list[int] = []

    def append_once(partition: int, *args: Any, **options: Any) -> None:
        if appended:
            failing()
        appended.append(partition)
        append(partition, *args, **options)

    monkeypatch.setattr(broker.transactions.topic, "append", append_once)
    assert broker.end(producer).error == 0
    assert (broker.state(), appended) == ("PrepareCommit", [STATE_PARTITION])
    monkeypatch.undo()
    broker.step(RETRY_MS)
    assert broker.state() == "CompleteCommit"


@pytest.mark.parametrize("failures", [1, 3])
def test_t52_markers_come_once_however_often_the_completion_fails(
    broker: TransactionBroker, monkeypatch: pytest.MonkeyPatch, failures: int
) -> None:
    producer = broker.begin()
    append = broker.transactions.topic.append
    calls: list[int] = []

    def append_later(partition: int, *args: Any, **options: Any) -> None:
        calls.append(partition)
        if 1 < len(calls) <= 1 + failures:
            failing()
        append(partition, *args, **options)

    monkeypatch.setattr(broker.transactions.topic, "append", append_later)
    assert broker.end(producer).error == 0
    for _ in range(failures):
        assert broker.state() == "PrepareCommit"
        broker.step(RETRY_MS)
    assert broker.state() == "CompleteCommit"
    assert [broker.cluster.log("t", each).log_end_offset for each in (0, 1)] == [2, 2]


def test_t60_many_transactions_that_took_too_long_are_ended_in_short_steps(
    broker: TransactionBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [f"id-{number}" for number in range(6)]
    for name in names:
        broker.add(broker.init(name).producer, ("t", 0), name=name)
    write = Log.append_control

    def slow(*args: Any, **options: Any) -> int:
        broker.clock.step(STEP_MS // 2)
        return write(*args, **options)

    monkeypatch.setattr(Log, "append_control", slow)
    broker.clock.step(1001)
    ended = []
    while (due_ms := broker.transactions.next_deadline_ms()) <= broker.clock.steady_ms():
        broker.transactions.on_time()
        ended.append([broker.state(name) for name in names].count("CompleteAbort"))
    assert ended == [2, 4, 6]
    assert due_ms > broker.clock.steady_ms()


def test_what_cannot_be_read_is_not_known(
    broker: TransactionBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of one partition; it is read again when it is asked for, and by itself."""
    producer = broker.begin()
    topic = broker.transactions.topic
    append = topic.append

    def append_but_not_on_disk(*args: Any, **options: Any) -> None:
        append(*args, **options)
        failing()

    monkeypatch.setattr(topic, "append", append_but_not_on_disk)
    monkeypatch.setattr(topic, "replay_partition", failing)
    assert broker.add(producer, ("t", 2)) == 16
    assert broker.end(producer).error == 15
    assert broker.init().error == 15
    assert broker.add(producer, ("t", 0)) == 15
    assert broker.transactions.verify("x", producer, [("t", 0)]) == {("t", 0): 15}
    assert broker.transactions.find("x") == 15
    with pytest.raises(CoordinatorLoadInProgress):
        broker.transactions.all()
    assert broker.init("y").error == 16
    broker.step(RETRY_MS)
    deadline_ms = broker.transactions.next_deadline_ms()
    assert deadline_ms == broker.clock.steady_ms() + RETRY_MS
    monkeypatch.undo()
    broker.step(RETRY_MS)
    assert [each.transactional_id for each in broker.transactions.all()] == ["x", "y"]
    assert broker.state() in ("Ongoing", "CompleteAbort")


def test_the_state_is_gone_with_its_topic(broker: TransactionBroker) -> None:
    producer = broker.begin()
    broker.cluster.delete_topics([broker.cluster.topics["t"]])
    assert broker.state() == "Ongoing"
    broker.cluster.delete_topics([broker.cluster.topics["__transaction_state"]])
    assert broker.end(producer).error == 49
    assert broker.transactions.next_deadline_ms() is None
    broker.transactions.configs_changed([])
    assert broker.init().producer == (1, 0)
