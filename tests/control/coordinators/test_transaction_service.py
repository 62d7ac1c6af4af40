"""Transactions over a real data directory: what is kept, what a crash leaves, what fails."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from broker_lite.control.coordinators.end_markers import RETRY_MS, STEP_MS
from broker_lite.control.coordinators.state_topic import StateTopic
from broker_lite.control.topics.topic_rules import NewTopic
from broker_lite.errors import CoordinatorLoadInProgress
from tests.control.transactor import STATE_PARTITION, TransactionBroker, failing
from tests.support.disk import Disk

OFFSETS = ("__consumer_offsets", 3)
STATE_LOGS = "__transaction_state"


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
    assert len(broker.transactions.all(1)) == 30
    broker.step(1)
    assert broker.transactions.all(1) == []
    broker.restart()
    assert broker.transactions.all(1) == []
    broker.cluster.close(sync=False)


def test_t72_a_kill_at_any_write_leaves_it_as_before_or_lets_it_be_finished(
    broker: TransactionBroker, disk: Disk
) -> None:
    """Before and after each of the writes of an end: prepare, two markers, complete."""
    producer = broker.begin()
    found: list[tuple[str, list[bool]]] = []

    def look(_: object) -> None:
        if is_watched:
            is_watched.clear()
            after = broker.killed(len(found))
            found.append((after.state(), after.open_transactions()))
            after.cluster.close(sync=False)
            is_watched.append(True)

    is_watched = [True]
    disk.before("pwrite", look)
    assert broker.end(producer).error == 0
    look(None)
    before, finished = ("Ongoing", [True, True]), ("CompleteCommit", [False, False])
    assert found == [before] + [finished] * 4


def test_a_record_that_is_not_written_changes_nothing(
    broker: TransactionBroker, disk: Disk
) -> None:
    producer = broker.begin()
    disk.refuse("pwrite", below=STATE_LOGS)
    assert broker.end(producer).error == 16
    assert broker.init().error == 16
    assert broker.add(producer, ("t", 9)) == 16
    assert broker.state() == "Ongoing"
    disk.mend()
    assert broker.end(producer).error == 0


def test_a_record_that_may_not_be_on_disk_counts(broker: TransactionBroker) -> None:
    producer = broker.begin()
    broker.topic.after_append = failing
    assert broker.end(producer).error == 16
    assert broker.state() == "PrepareCommit"
    broker.step(RETRY_MS)
    assert broker.state() == "CompleteCommit"
    broker.topic.mend()
    assert broker.end(producer).producer == (0, 1)
    assert [broker.cluster.log("t", each).log_end_offset for each in (0, 1)] == [2, 2]


def test_what_a_failing_disk_costs_does_not_depend_on_the_log(
    broker: TransactionBroker, disk: Disk
) -> None:
    """It is not read again for a record that is known not to be in it."""
    producer = broker.begin()
    disk.refuse("pwrite", below=STATE_LOGS)
    broker.topic.before_replay = failing
    assert broker.end(producer).error == 16
    assert broker.init("new").error == 16
    broker.step(1001)
    assert (broker.state(), broker.state("new")) == ("Ongoing", "")
    disk.mend()
    broker.step(RETRY_MS)
    assert broker.state() == "CompleteAbort"


def test_t60_requests_that_fail_do_not_put_off_timeouts(
    broker: TransactionBroker, disk: Disk
) -> None:
    broker.begin()
    other = broker.transactions.topic.partition_of("y")
    assert other != STATE_PARTITION
    disk.refuse("pwrite", below=f"{STATE_LOGS}-{other}/")
    for _ in range(5):
        assert broker.init("y").error == 16
        broker.step(RETRY_MS // 2)
    assert broker.state() == "CompleteAbort"


def test_a_topic_that_cannot_be_made_is_15(tmp_path: Path) -> None:
    factor = {"transaction_state_log_replication_factor": "2"}
    broker = TransactionBroker(tmp_path / "data", **factor)
    assert broker.init().error == 15
    broker.cluster.close(sync=False)


def test_a_transaction_that_is_too_large_for_its_record(tmp_path: Path) -> None:
    size = str(1 << 20)
    broker = TransactionBroker(tmp_path / "data", transaction_state_log_segment_bytes=size)
    producer = broker.init().producer
    many = [("t", partition) for partition in range(300_000)]
    assert broker.add(producer, *many) == -1
    assert broker.state() == "Empty"
    broker.cluster.close(sync=False)


def test_t50_a_start_finishes_however_many_markers_there_are(
    broker: TransactionBroker, disk: Disk
) -> None:
    plan = broker.cluster.plan_topic(NewTopic("wide", partition_count=300))
    broker.cluster.create_topics([plan])
    producer = broker.init().producer
    broker.add(producer, *[("wide", partition) for partition in range(300)])
    disk.refuse("pwrite", below="wide-")
    assert broker.end(producer).error == 0
    disk.mend()
    broker.restart()
    assert broker.state() == "CompleteCommit"
    assert broker.cluster.log("wide", 299).log_end_offset == 1


def test_t15_no_producer_id_is_14(broker: TransactionBroker, disk: Disk) -> None:
    disk.refuse("pwrite", below="__cluster_metadata")
    assert broker.init().error == 14


def test_a_timeout_that_cannot_be_written_is_tried_again(
    broker: TransactionBroker, disk: Disk
) -> None:
    broker.begin()
    disk.refuse("pwrite", below=STATE_LOGS)
    broker.step(1001)
    assert broker.state() == "Ongoing"
    deadline_ms = broker.transactions.next_deadline_ms()
    assert deadline_ms == broker.clock.steady_ms() + RETRY_MS
    disk.mend()
    broker.step(RETRY_MS - 1)
    assert broker.state() == "Ongoing"
    broker.step(1)
    assert broker.state() == "CompleteAbort"


def test_a_marker_that_cannot_be_written_is_tried_again(
    broker: TransactionBroker, disk: Disk, caplog: pytest.LogCaptureFixture
) -> None:
    producer = broker.begin()
    disk.refuse("pwrite", below="t-")
    assert broker.end(producer).producer == (0, 1)
    assert broker.state() == "PrepareCommit"
    assert broker.init().error == 51
    broker.step(RETRY_MS)
    assert [text for text in caplog.messages if "marker" in text] == [
        "marker not written topic=t partition=0 transactional_id=x "
        "reason=OSError(5, 'the disk is gone')"
    ]
    disk.mend()
    assert broker.transactions.next_deadline_ms() == broker.clock.steady_ms() + RETRY_MS
    broker.step(RETRY_MS)
    assert broker.state() == "CompleteCommit"
    assert broker.open_transactions() == [False, False]


def test_a_completion_that_cannot_be_written_is_tried_again(
    broker: TransactionBroker, disk: Disk
) -> None:
    producer = broker.begin()
    broker.topic.after_append = lambda _: disk.refuse("pwrite", below=STATE_LOGS)
    assert broker.end(producer).error == 0
    assert broker.state() == "PrepareCommit"
    disk.mend()
    broker.topic.mend()
    broker.step(RETRY_MS)
    assert broker.state() == "CompleteCommit"


@pytest.mark.parametrize("failures", [1, 3])
def test_t52_markers_come_once_however_often_the_completion_fails(
    broker: TransactionBroker, failures: int
) -> None:
    producer = broker.begin()
    calls: list[int] = []

    def fail_later(partition: int) -> None:
        calls.append(partition)
        if 1 < len(calls) <= 1 + failures:
            failing(partition)

    broker.topic.before_append = fail_later
    assert broker.end(producer).error == 0
    for _ in range(failures):
        assert broker.state() == "PrepareCommit"
        broker.step(RETRY_MS)
    assert broker.state() == "CompleteCommit"
    assert [broker.cluster.log("t", each).log_end_offset for each in (0, 1)] == [2, 2]


def test_t60_many_transactions_that_took_too_long_are_ended_in_short_steps(
    broker: TransactionBroker, disk: Disk
) -> None:
    names = [f"id-{number}" for number in range(6)]
    for name in names:
        broker.add(broker.init(name).producer, ("t", 0), name=name)

    def take_long(path: str) -> None:
        if "/t-0/" in path and path.endswith(".log"):
            broker.clock.step(STEP_MS // 2)

    disk.before("pwrite", take_long)
    broker.clock.step(1001)
    ended = []
    while (due_ms := broker.transactions.next_deadline_ms()) <= broker.clock.steady_ms():
        broker.transactions.on_time()
        ended.append([broker.state(name) for name in names].count("CompleteAbort"))
    assert ended == [2, 4, 6]
    assert due_ms > broker.clock.steady_ms()


def test_what_cannot_be_read_is_not_known(broker: TransactionBroker) -> None:
    """Of one partition; it is read again when it is asked for, and by itself."""
    producer = broker.begin()
    broker.topic.after_append = broker.topic.before_replay = failing
    assert broker.add(producer, ("t", 2)) == 16
    assert broker.end(producer).error == 15
    assert broker.init().error == 15
    assert broker.add(producer, ("t", 0)) == 15
    assert broker.transactions.verify("x", producer, [("t", 0)]) == {("t", 0): 15}
    assert broker.transactions.find("x", 1) == 15
    with pytest.raises(CoordinatorLoadInProgress):
        broker.transactions.all(1)
    assert broker.init("y").error == 16
    broker.step(RETRY_MS)
    deadline_ms = broker.transactions.next_deadline_ms()
    assert deadline_ms == broker.clock.steady_ms() + RETRY_MS
    broker.topic.mend()
    broker.step(RETRY_MS)
    assert [each.transactional_id for each in broker.transactions.all(1)] == ["x", "y"]
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
