"""One sequence on one broker: what is sent, what comes back, and what comes back later."""

import asyncio
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from broker_lite.wire import messages
from tests.differential.coordinator_connection import Closed, Connections
from tests.differential.coordinator_memory import Memory
from tests.differential.coordinator_sequence import (
    OWN_TOPIC,
    OWN_TOPIC_PARTITIONS,
    Sequence,
    Step,
)
from tests.differential.coordinator_topics import (
    ANSWER_TIMEOUT_S,
    POLL_S,
    SETTLE_S,
    change_topic,
    latest_offsets,
)
from tests.differential.coordinator_views import Plain, log_view, own_part, plain
from tests.differential.group_requests import GROUP_REQUESTS
from tests.differential.transaction_requests import TRANSACTION_REQUESTS

TIMED_PATIENCE_S: Final = 0.1
SETTLE_TIMEOUT_S: Final = 10.0
LOADING: Final = frozenset({14, 15, 16})
TRANSACTIONAL_IDS: Final = ("t0", "t1")
_PARKING: Final = frozenset({"JoinGroup", "SyncGroup"})
_RELEASING: Final = _PARKING | {"LeaveGroup", "ConsumerGroupHeartbeat", "DeleteGroups", "Wait"}
_SETTLING: Final = frozenset({"EndTxn", "InitProducerId", "Wait"})
_REQUESTS: Final = {**GROUP_REQUESTS, **TRANSACTION_REQUESTS}


class Entry(NamedTuple):
    """What came of one step.

    Attributes:
        answer: its own answer, or `parked`, `closed`, `silent`.
        arrived: answers of requests that were parked before, by the number of their step.
    """

    answer: Plain
    arrived: dict[int, Plain]


class Scene:
    """One sequence on one broker."""

    def __init__(
        self, connections: Connections, memory: Memory, sequence: Sequence, patience_s: float
    ) -> None:
        self._connections = connections
        self._memory = memory
        self._sequence = sequence
        # many long steps would take longer than the short timeouts
        self._patience_s = min(patience_s, TIMED_PATIENCE_S) if sequence.is_timed else patience_s
        self._parked: dict[int, asyncio.Task[Any]] = {}

    async def run(self) -> list[Entry]:
        entries = []
        for index, step in enumerate(self._sequence.steps):
            entries.append(await self._run_step(index, step))
        return entries

    def close(self) -> None:
        """Close the connections of what is still parked."""
        for task in self._parked.values():
            task.cancel()

    async def _run_step(self, index: int, step: Step) -> Entry:
        if step.api == "Look":
            return Entry(await self._look(), {})
        answer: Any = None
        if step.api == "Wait":
            await asyncio.sleep(step.args["seconds"])
        elif step.api == "Disconnect":
            self._disconnect(step.slot)
        elif step.api == "Topic":
            await self._change_topic(step)
        else:
            answer = await self._send(index, step)
        if step.api in _RELEASING and answer != "parked":
            await self._be_patient(list(self._parked.values()))
        if step.args.get("regex"):
            # Kafka resolves regular expressions in the background (G-100)
            await asyncio.sleep(SETTLE_S)
        arrived = self._collect()
        own = arrived.pop(index, answer)
        self._name_members({**arrived, index: own})
        for origin, value in arrived.items():
            self._learn(self._sequence.steps[origin], value)
        self._learn(step, own)
        if step.api in _SETTLING and self._sequence.has_topic:
            await self._settle()
        return Entry(
            self._view(step, own),
            {
                origin: self._view(self._sequence.steps[origin], value)
                for origin, value in arrived.items()
            },
        )

    async def _send(self, index: int, step: Step) -> Any:
        """Send a request; return its answer or the word for what came instead of one."""
        request = _REQUESTS[step.api](step, self._memory)
        client_id = f"c{step.slot}"
        if step.api not in _PARKING:
            return await self._answer_of(self._ask(request, step.version, client_id))
        task = asyncio.ensure_future(
            self._answer_of(self._connections.ask(request, step.version, client_id), None)
        )
        self._parked[index] = task
        await self._be_patient([task])
        if not task.done():
            # whoever answers this has had the other request before
            await self._ask(messages.DescribeGroupsRequest(groups=[request.group_id]), 5, "fence")
        if len(self._parked) > 1 or not task.done() or self._sequence.is_timed:
            await self._be_patient(list(self._parked.values()))
        return "parked"

    async def _be_patient(self, tasks: list[asyncio.Task[Any]]) -> None:
        """Wait for answers; where time matters as long as it may take, whatever comes."""
        if self._sequence.is_timed:
            await asyncio.sleep(self._patience_s)
        elif tasks:
            await asyncio.wait(tasks, timeout=self._patience_s)

    async def _ask(self, request: Any, version: int, client_id: str) -> Any:
        """Ask, and again while the coordinator is being loaded."""
        while True:
            answer = await self._connections.ask(request, version, client_id)
            if not codes_of(answer) & LOADING:
                return answer
            await asyncio.sleep(POLL_S)

    async def _answer_of(self, asking: Any, timeout_s: float | None = ANSWER_TIMEOUT_S) -> Any:
        try:
            return await asyncio.wait_for(asking, timeout_s)
        except Closed:
            return "closed"
        except TimeoutError:
            return "silent"

    def _collect(self) -> dict[int, Any]:
        parked = sorted(self._parked.items())
        done = {origin: task.result() for origin, task in parked if task.done()}
        for origin in done:
            del self._parked[origin]
        return done

    def _disconnect(self, slot: int) -> None:
        for origin in list(self._parked):
            if self._sequence.steps[origin].slot == slot:
                self._parked.pop(origin).cancel()

    def _name_members(self, answers: Mapping[int, Any]) -> None:
        """Name the members by the answers to themselves, before any list that they are in."""
        for origin, value in answers.items():
            raw = getattr(value, "member_id", None)
            if raw:
                self._memory.names.learn_member(raw, self._sequence.steps[origin].slot)

    async def _change_topic(self, step: Step) -> None:
        name = self._memory.topic(step.args["name"])
        action, count = step.args["action"], step.args["count"]
        ids = await change_topic(self._connections, action, name, count)
        if ids:
            self._memory.learn_topic(step.args["name"], ids[name])

    def _learn(self, step: Step, answer: Any) -> None:
        if answer is not None and not isinstance(answer, str):
            self._memory.learn(step, answer)

    def _view(self, step: Step, answer: Any) -> Plain:
        if answer is None or isinstance(answer, str):
            return answer
        return plain(own_part(step.api, answer, self._memory.tag), self._memory.names)

    async def _settle(self) -> None:
        """Wait until no transaction of the sequence is being ended (T-50)."""
        kind = messages.DescribeTransactionsRequest
        ids = [self._memory.own(name) for name in TRANSACTIONAL_IDS]
        async with asyncio.timeout(SETTLE_TIMEOUT_S):
            while True:
                answer = await self._ask(kind(transactional_ids=ids), 0, "settle")
                states = {row.transaction_state for row in answer.transaction_states}
                if not any(state.startswith("Prepare") for state in states):
                    return
                await asyncio.sleep(POLL_S)

    async def _look(self) -> Plain:
        """Both isolation levels' view of the sequence's own topic."""
        topic = self._memory.own(OWN_TOPIC)
        found: dict[str, Plain] = {}
        for isolation in (0, 1):
            for row in await self._fetch(topic, isolation):
                key = f"{row.partition_index} isolation {isolation}"
                found[key] = log_view(row, self._memory.names)
            for row in await latest_offsets(
                self._connections, topic, OWN_TOPIC_PARTITIONS, isolation
            ):
                found[f"{row.partition_index} latest {isolation}"] = [row.error_code, row.offset]
        return found

    async def _fetch(self, topic: str, isolation: int) -> Any:
        kind = messages.FetchRequest
        partitions = [
            kind.FetchPartition(partition=index, fetch_offset=0, partition_max_bytes=1 << 20)
            for index in range(OWN_TOPIC_PARTITIONS)
        ]
        value = kind(
            isolation_level=isolation,
            max_bytes=1 << 22,
            topics=[kind.FetchTopic(topic=topic, partitions=partitions)],
        )
        answer = await self._ask(value, 11, "look")
        return answer.responses[0].partitions


def codes_of(value: Any) -> set[int]:
    """Every error code in a decoded answer."""
    if isinstance(value, list):
        return {code for item in value for code in codes_of(item)}
    slots = getattr(type(value), "__slots__", ())
    found: set[int] = set()
    for slot in slots:
        item = getattr(value, slot)
        if slot.endswith("error_code"):
            found.add(item)
        elif slot != "unknown_tags" and not isinstance(item, (str, bytes, int)):
            found |= codes_of(item)
    return found
