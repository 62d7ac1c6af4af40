"""Who matches the regular expressions of heartbeats; what they match is in tests/coordinator."""

import asyncio
from typing import Any

import pytest
from anyio import to_thread

from broker_lite.handler.context import CloseConnection
from broker_lite.handler.groups.regexes import prepare_regexes
from broker_lite.wire import messages
from tests.support.handler_broker import HandlerBroker

HOSTILE = "(a?b?){1,250}" * 20


def heartbeat(regex: str, epoch: int = 0) -> dict[str, Any]:
    return {
        "group_id": "g",
        "member_id": "m",
        "member_epoch": epoch,
        "rebalance_timeout_ms": 1000,
        "subscribed_topic_regex": regex,
        "topic_partitions": [],
    }


@pytest.mark.parametrize(("regex", "threads"), [(HOSTILE, 1), ("a.*", 0), ("(", 0)])
def test_g100_only_what_takes_long_is_for_a_thread(
    broker: HandlerBroker, monkeypatch: pytest.MonkeyPatch, regex: str, threads: int
) -> None:
    names = [f"{'ab' * 100}{number}" for number in range(3)]
    for name in names:
        broker.cluster.create_topic(name)
    calls = []
    run_sync = to_thread.run_sync

    async def counted(*args: Any) -> Any:
        calls.append(args)
        return await run_sync(*args)

    monkeypatch.setattr(to_thread, "run_sync", counted)
    body = messages.ConsumerGroupHeartbeatRequest(**heartbeat(regex))
    prepared = asyncio.run(prepare_regexes(broker.context, body))
    assert list(prepared) == [regex]
    assert len(calls) == threads


def test_g100_nothing_is_prepared_for_most_heartbeats(broker: HandlerBroker) -> None:
    body = messages.ConsumerGroupHeartbeatRequest(group_id="g", member_id="m")
    assert asyncio.run(prepare_regexes(broker.context, body)) == {}


def test_g100_a_stop_ends_the_matching(broker: HandlerBroker) -> None:
    broker.cluster.create_topic("ab" * 100)
    broker.context.stop.set()
    body = messages.ConsumerGroupHeartbeatRequest(**heartbeat(HOSTILE * 2))
    with pytest.raises(CloseConnection, match="stopped"):
        asyncio.run(prepare_regexes(broker.context, body))
