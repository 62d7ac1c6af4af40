"""Transactions of each client that has them."""

from collections.abc import Callable

import pytest
from confluent_kafka import Producer

from tests.conformance.clients import RANGE, TRANSACTIONAL, Builds, Client
from tests.conformance.feeder import PARTITIONS, TIMEOUT_S, Feeder, create_topic
from tests.conformance.group import Group, committed_offsets, visible_values
from tests.conformance.program import Program, Programs

pytestmark = [pytest.mark.client, pytest.mark.slow]
LONG_MS = 60_000
SHORT_MS = 1000
Start = Callable[..., Program]


@pytest.fixture(params=TRANSACTIONAL, ids=lambda client: client.name)
def client(request: pytest.FixtureRequest) -> Client:
    """Each client that has transactions."""
    chosen: Client = request.param
    return chosen


@pytest.fixture
def start(client: Client, bootstrap: str, topic: str, programs: Programs, builds: Builds) -> Start:
    """Start a program of the client: its role and its options; the topic is there."""
    create_topic(bootstrap, topic, 2)

    def started(role: str, **options: object) -> Program:
        where = {"bootstrap": bootstrap, "topic": topic}
        fixed = {"transactional_id": f"transactional-{topic}", "timeout_ms": LONG_MS}
        group = {
            "protocol": "classic",
            "assignor": "range",
            "session_ms": 6000,
            "heartbeat_ms": 500,
        }
        given = {**where, **fixed, **group, **options}
        return programs.start(builds.command(client, role), given, str(options.get("name", role)))

    return started


def reader(start: Start, topic: str, isolation: str) -> Program:
    """A member of a group of its own."""
    return start("member", name=isolation, group=f"{isolation}-{topic}", isolation=isolation)


def values(member: Program) -> list[str]:
    """What a member read, sorted."""
    return sorted(event.words[2] for event in member.of_kind("read"))


def write(producer: Program, *sent: tuple[int, str], end: str | None = "commit") -> None:
    """Write records in one transaction and end it."""
    producer.do("begin")
    for partition, value in sent:
        producer.do("send", partition, value)
    if end is not None:
        producer.do(end)


def test_commits_and_aborts(
    client: Client, bootstrap: str, topic: str, start: Start, programs: Programs
) -> None:
    producer = start("transactor")
    committed = reader(start, topic, "read_committed")
    every = reader(start, topic, "read_uncommitted")
    producer.do("init")
    write(producer, (0, "a"), (1, "b"))
    write(producer, (0, "c"), end="abort")
    write(producer, (0, "d"))
    write(producer, (0, "open"), end=None)
    programs.wait_until(lambda: values(every) == ["a", "b", "c", "d", "open"], "all is read")
    programs.wait_until(lambda: values(committed) == ["a", "b", "d"], "what is committed is read")
    producer.do("commit")
    programs.wait_until(lambda: values(committed) == ["a", "b", "d", "open"], "the rest is read")
    if client.commits_offsets_alone:
        group = f"offsets-{topic}"
        producer.do("begin")
        producer.do("offset", group, topic, 0, 1)
        producer.do("abort")
        assert committed_offsets(bootstrap, group) == {}
        producer.do("begin")
        producer.do("offset", group, topic, 0, 2)
        producer.do("commit")
        assert committed_offsets(bootstrap, group) == {0: 2}
    programs.leave()


def test_a_second_instance_fences_the_first(bootstrap: str, topic: str, start: Start) -> None:
    first = start("transactor", name="first")
    first.do("init")
    write(first, (0, "lost"), end=None)
    second = start("transactor", name="second")
    second.do("init")
    assert first.ask("commit").kind == "failed"
    write(second, (0, "kept"))
    assert visible_values(bootstrap, topic, 2) == ["kept"]
    second.leave()


def test_a_transaction_that_takes_too_long_is_aborted(
    bootstrap: str, topic: str, start: Start, programs: Programs
) -> None:
    slow = start("transactor", name="slow", timeout_ms=SHORT_MS)
    slow.do("init")
    write(slow, (0, "lost"), end=None)
    plain = Producer({"bootstrap.servers": bootstrap})
    plain.produce(topic, b"after", partition=0)
    assert plain.flush(TIMEOUT_S) == 0
    programs.wait_until(lambda: visible_values(bootstrap, topic, 2) == ["after"], "it is aborted")
    assert slow.ask("commit").kind == "failed"
    again = start("transactor", name="again")
    again.do("init")
    write(again, (0, "kept"))
    assert visible_values(bootstrap, topic, 2) == ["after", "kept"]
    again.leave()


def test_consumes_transforms_and_produces_once(
    client: Client, bootstrap: str, topic: str, programs: Programs, builds: Builds
) -> None:
    output = f"output-{topic}"
    create_topic(bootstrap, topic)
    create_topic(bootstrap, output)
    where = {"bootstrap": bootstrap, "topic": topic, "output": output}
    group = Group(programs, builds, client, RANGE, where)

    def join(number: int) -> Program:
        transactional_id = f"{topic}-{number}"
        options = {"transactional_id": transactional_id, "timeout_ms": 10_000}
        return group.join(f"transform-{number}", "transform", **options)

    with Feeder(bootstrap, topic) as feeder:
        first, second = join(0), join(1)
        group.settle(first, second)
        programs.wait_until(lambda: bool(second.of_kind("moved")), "the second moves records")
        second.kill()
        third = join(1)
        group.settle(first, third)
        programs.wait_until(lambda: bool(third.of_kind("moved")), "the third moves records")
        ends = group.finish(feeder)
    wanted = [f"{p}:{offset}" for p in range(PARTITIONS) for offset in range(ends[p])]
    assert visible_values(bootstrap, output) == wanted
