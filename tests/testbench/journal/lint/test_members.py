"""Members that went without a word."""

from typing import Any

import pytest

from broker_lite.testbench.journal.entry_facts import EntryFacts
from broker_lite.testbench.journal.lint.members import MissingClose
from broker_lite.wire import messages
from tests.testbench.journal.recorded import Client, recording

HEARTBEAT = messages.HeartbeatRequest
NEW = messages.ConsumerGroupHeartbeatRequest
LEAVE = messages.LeaveGroupRequest


def left(*sent: tuple[Any, Any, int, Any], open_connections: tuple[int, ...] = ()) -> list[str]:
    rule = MissingClose(open_connections)
    client = Client(recording())
    for kind, body, version, answer in sent:
        rule.see(EntryFacts(client.send(kind, body, version, answer)))
    return [each for finding in rule.findings() for each in finding.requests]


def beat(member: str = "m", **fields: Any) -> tuple[Any, Any, int, Any]:
    return HEARTBEAT, HEARTBEAT(group_id="g", member_id=member, **fields), 4, None


def test_a_member_that_went() -> None:
    assert left(beat(), beat(), beat("n")) == ["r2", "r3"]
    assert left(beat(), open_connections=(5,)) == []
    assert left(beat(group_instance_id="i")) == []
    assert left(beat(""), (HEARTBEAT, b"", 4, None)) == []


@pytest.mark.parametrize("version", [1, 4])
def test_a_member_that_left(version: int) -> None:
    body = LEAVE(group_id="g", member_id="m")
    if version > 2:
        body = LEAVE(group_id="g", members=[LEAVE.MemberIdentity(member_id="m")])
    assert left(beat(), (LEAVE, body, version, None)) == []


def new(member: str, epoch: int, instance: str | None = None, given: str | None = None) -> Any:
    answer = messages.ConsumerGroupHeartbeatResponse(member_id=given)
    body = NEW(group_id="g", member_id=member, member_epoch=epoch, instance_id=instance)
    return NEW, body, 0, answer


def test_members_of_the_new_protocol() -> None:
    assert left(new("", 0, given="m"), new("m", 1)) == ["r2"]
    assert left(new("", 0, given="m"), new("m", 1), new("m", -1)) == []
    assert left(new("", 0, "i", given="m"), new("m", 1)) == []
