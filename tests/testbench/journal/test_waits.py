"""Waits end as soon as the requests have come, and tell what is there if they have not.

Also tests: broker_lite.testbench.journal.near.
"""

from typing import Any

import anyio
import pytest

from broker_lite.testbench.errors import ControlError
from broker_lite.testbench.journal.journal import Journal
from broker_lite.testbench.journal.near import near_misses
from broker_lite.testbench.journal.waits import wait
from broker_lite.testbench.selectors import Matcher, Selectors
from broker_lite.wire import messages
from tests.testbench.journal.recorded import Client, batch, produce, produced, recording

pytestmark = pytest.mark.anyio


def send(journal: Journal, topic: str = "orders", partition: int = 0) -> None:
    body = produce(batch(), topic=topic, partition=partition)
    Client(journal).send(messages.ProduceRequest, body, 9, produced())


async def test_what_is_there_already_counts_after_an_entry() -> None:
    journal = recording()
    for _ in range(3):
        send(journal)
    found = await wait(journal, Selectors(keys=["Produce"]), count=2, after=1)
    assert [facts.entry.id for facts in found] == ["r2", "r3"]


async def test_what_comes_ends_the_wait() -> None:
    journal = recording()
    send(journal)
    found: list[str] = []

    async def waiting() -> None:
        came = await wait(journal, Selectors(topic="orders"), count=2, timeout_ms=5000)
        found.extend(facts.entry.id for facts in came)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(waiting)
        await anyio.wait_all_tasks_blocked()
        send(journal, "other")
        send(journal)
        send(journal)
    assert found == ["r3", "r4"]
    assert journal.ends == []


async def test_a_request_that_has_only_arrived() -> None:
    journal = recording()
    client = Client(journal)

    async def handle(context: Any, request: Any) -> None:
        await anyio.sleep_forever()

    request = client.request(messages.ProduceRequest, produce(batch()), 9)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(journal.hook_part, client.context, request, handle)
        [facts] = await wait(journal, Selectors(keys=[0]), arrivals=True, timeout_ms=5000)
        assert (facts.entry.id, facts.entry.ended) == ("r1", "")
        tasks.cancel_scope.cancel()
    assert journal.arrivals == []


async def test_a_wait_that_times_out_tells_what_is_there() -> None:
    journal = recording()
    send(journal)
    send(journal, "order")
    send(journal, "order", 3)
    match = Selectors(keys=["Produce"], topic="orders", partitions=[0])
    with pytest.raises(ControlError) as caught:
        await wait(journal, match, count=2, timeout_ms=10, after=0)
    assert caught.value.status == 408
    assert "\n" not in caught.value.text
    assert caught.value.text.startswith(
        "1 of 2 requests came in time (r1); 3 requests came in all; nearest: "
    )
    assert "r2 Produce from rdkafka: topic 'order' is not 'orders'" in caught.value.text
    found: Any = caught.value.found
    assert (found["requests"], found["came"], len(found["near"])) == (["r1"], 3, 2)


async def test_a_wait_in_which_nothing_came_tells_what_was_there_before() -> None:
    journal = recording()
    send(journal, "order")
    with pytest.raises(ControlError, match="0 requests came in all; nearest: r1 Produce"):
        await wait(journal, Selectors(topic="orders"), timeout_ms=0)
    with pytest.raises(ControlError, match=r"0 requests came in all$"):
        await wait(recording(), Selectors(topic="orders"), timeout_ms=0)


@pytest.mark.parametrize(("arguments", "at"), [({"count": 0}, "count")])
async def test_wrong_arguments(arguments: dict[str, Any], at: str) -> None:
    with pytest.raises(ControlError) as caught:
        await wait(recording(), Selectors(), **arguments)
    assert (caught.value.status, caught.value.at) == (400, at)


async def test_what_was_dropped_does_not_count() -> None:
    journal = recording(keep=2)
    for _ in range(5):
        send(journal)
    found = await wait(journal, Selectors(keys=["Produce"]), count=2, after=0)
    assert [facts.entry.id for facts in found] == ["r4", "r5"]
    with pytest.raises(ControlError, match="2 of 3 requests came in time"):
        await wait(journal, Selectors(keys=["Produce"]), count=3, after=0, timeout_ms=10)


async def test_what_is_not_recorded_is_not_waited_for() -> None:
    with pytest.raises(ControlError, match="requests are not recorded") as caught:
        await wait(recording("off"), Selectors(keys=["Produce"]))
    assert caught.value.status == 409
    with pytest.raises(ControlError, match="requests of these APIs are not recorded"):
        await wait(recording(keys=["Fetch"]), Selectors(keys=["Produce"]))


async def test_the_nearest_miss_by_the_fewest_selectors() -> None:
    journal = recording()
    send(journal, "b", 1)
    Client(journal).send(messages.HeartbeatRequest, messages.HeartbeatRequest(), 4)
    send(journal, "a", 1)
    send(journal, "b", 2)
    send(journal, "a", 2)
    matcher = Matcher(Selectors(keys=["Produce"], topic="a", partitions=[2]))
    near = await near_misses(journal, matcher)
    assert near == [
        "r3 Produce from rdkafka: partition 1 is not 2",
        "r4 Produce from rdkafka: topic 'b' is not 'a', it names no partition",
        "r1 Produce from rdkafka: topic 'b' is not 'a', it names no partition",
    ]
    assert all(text[:2] != "r5" for text in near)
    assert len(await near_misses(journal, matcher, count=1)) == 1
