"""Groups of each client: members come, die and come back; nothing is lost."""

import os
from pathlib import Path

import pytest

from tests.conformance.clients import CLIENTS, CONSUMER, Builds, Client, Mode
from tests.conformance.feeder import Feeder, create_topic
from tests.conformance.group import SHORT_TIMES, Group
from tests.conformance.program import Program, Programs
from tests.conformance.reads import read_faults
from tests.support.broker_process import BrokerProcess
from tests.support.reference_kafka import free_port

pytestmark = [pytest.mark.client, pytest.mark.slow]


def cases(*, is_static: bool) -> list[object]:
    """Every client with each of its modes."""
    return [
        pytest.param(client, mode, id=f"{client.name}-{mode}")
        for client in CLIENTS
        for mode in client.modes
        if mode.is_static == is_static
    ]


def first_modes(*names: str) -> list[object]:
    """Every client with a classic mode, these with one of the other protocol too."""
    return [
        pytest.param(client, mode, id=f"{client.name}-{mode.protocol}")
        for client in CLIENTS
        for mode in (client.modes[0], CONSUMER)
        if mode.protocol == "classic" or client.name in names
    ]


@pytest.mark.parametrize(("client", "mode"), cases(is_static=False))
def test_one_is_killed_and_one_is_added(
    client: Client, mode: Mode, bootstrap: str, topic: str, programs: Programs, builds: Builds
) -> None:
    create_topic(bootstrap, topic)
    group = Group(programs, builds, client, mode, {"bootstrap": bootstrap, "topic": topic})
    with Feeder(bootstrap, topic) as feeder:
        first, second, third = (group.join(name) for name in "abc")
        group.settle(first, second, third)
        group.reads(first, second, third)
        second.kill()
        group.settle(first, third)
        fourth = group.join("d")
        group.settle(first, third, fourth)
        group.reads(fourth)
        ends = group.finish(feeder)
    assert read_faults(group.journals(), ends) == []


@pytest.mark.parametrize(("client", "mode"), cases(is_static=True))
def test_a_static_member_comes_back_to_its_partitions(
    client: Client, mode: Mode, bootstrap: str, topic: str, programs: Programs, builds: Builds
) -> None:
    create_topic(bootstrap, topic)
    group = Group(programs, builds, client, mode, {"bootstrap": bootstrap, "topic": topic})
    with Feeder(bootstrap, topic) as feeder:
        first, second, third = (group.join(name) for name in "abc")
        group.settle(first, second, third)
        group.reads(first, second, third)
        group.rest(first, second, third)
        before = [member.of_kind("assigned") for member in (first, third)]
        mine = second.partitions
        if mode.protocol == "consumer":
            second.leave()  # who was killed keeps its name until its session ends
        else:
            second.kill()
        again = group.join("b")
        programs.wait_until(lambda: again.partitions == mine, "it has its partitions again")
        group.reads(again)
        assert [member.of_kind("assigned") for member in (first, third)] == before
        ends = group.finish(feeder)
    assert read_faults(group.journals(), ends) == []


def first_offsets(member: Program) -> dict[int, int]:
    """The offset that a member read first, by partition."""
    found: dict[int, int] = {}
    for event in member.of_kind("read"):
        found.setdefault(int(event.words[0]), int(event.words[1]))
    return found


@pytest.mark.parametrize(("client", "mode"), first_modes("confluent", "java", "franz"))
def test_commits_seeks_restarts_and_continues(
    client: Client, mode: Mode, bootstrap: str, topic: str, programs: Programs, builds: Builds
) -> None:
    create_topic(bootstrap, topic)
    group = Group(programs, builds, client, mode, {"bootstrap": bootstrap, "topic": topic})
    admin = group.join("admin", "administrator")
    member = group.join("a")
    with Feeder(bootstrap, topic) as feeder:
        group.reads(member)
        middle = feeder.stop()
    programs.wait_until(lambda: group.committed() == middle, "all is read")
    member.do("seek", 0, 0)

    def read_again() -> list[int]:
        sought = [event.kind for event in member.events].index("done")
        return [int(event.words[1]) for event in member.events[sought:] if event.kind == "read"]

    programs.wait_until(lambda: len(read_again()) == middle[0], "partition 0 is read again")
    assert read_again() == list(range(middle[0]))
    member.leave()
    with Feeder(bootstrap, topic) as feeder:
        back = group.join("b")
        programs.wait_until(lambda: len(first_offsets(back)) == len(middle), "it goes on")
        ends = feeder.stop()
    programs.wait_until(lambda: group.committed() == ends, "the rest is read")
    back.leave()
    assert first_offsets(back) == middle
    if mode.protocol == "classic":
        administer(admin, client, group.name, topic, ends)


def administer(
    admin: Program, client: Client, group: str, topic: str, ends: dict[int, int]
) -> None:
    """Do with a group that all members have left what the client can."""

    def offsets() -> dict[int, int]:
        words = admin.do("offsets", group)[1:]
        pairs = (map(int, word.split(":")) for word in words)
        return {partition: offset for partition, offset in pairs if offset >= 0}

    assert group in admin.do("list")
    assert admin.do("state", group)[1:] == ("empty", "0")
    assert offsets() == ends
    if "alter" in client.administers:
        admin.do("alter", group, topic, 0, 3)
        ends = {**ends, 0: 3}
        assert offsets() == ends
    if "forget" in client.administers:
        admin.do("forget", group, topic, 1)
        del ends[1]
        assert offsets() == ends
    if "delete" in client.administers:
        admin.do("delete", group)
        assert group not in admin.do("list")


@pytest.mark.skipif("CONFORMANCE_BOOTSTRAP" in os.environ, reason="it restarts our broker")
@pytest.mark.parametrize(("client", "mode"), first_modes("confluent"))
def test_goes_on_when_the_broker_was_killed(
    client: Client, mode: Mode, topic: str, tmp_path: Path, programs: Programs, builds: Builds
) -> None:
    broker = BrokerProcess(tmp_path / "data", settings=SHORT_TIMES, port=free_port())
    with broker:
        create_topic(broker.bootstrap, topic)
        where = {"bootstrap": broker.bootstrap, "topic": topic}
        group = Group(programs, builds, client, mode, where)
        with Feeder(broker.bootstrap, topic) as feeder:
            members = [group.join(name) for name in "ab"]
            group.settle(*members)
            group.reads(*members)
            broker.kill()
            broker.start()
            seen = [len(member.of_kind("read")) for member in members]
            programs.wait_until(
                lambda: all(
                    len(member.of_kind("read")) > count
                    for member, count in zip(members, seen, strict=True)
                ),
                "both read again",
            )
            ends = group.finish(feeder)
    assert read_faults(group.journals(), ends) == []
