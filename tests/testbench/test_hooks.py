"""The journal is called around the faults, each only for the APIs that it wants."""

from collections.abc import Collection

from broker_lite.handler.context import Handler, HandlerContext, Parts, Request
from broker_lite.testbench.facts import Facts
from broker_lite.testbench.hooks import BenchHooks
from tests.testbench.conftest import FaultyBroker

HEARTBEAT, METADATA = 12, 3


class Journal:
    """Notes which rules acted on each request, and the size of its answer."""

    def __init__(self) -> None:
        self.keys: set[int] = set()
        self.seen: list[tuple[str, list[str], int]] = []

    def wanted_keys(self) -> Collection[int]:
        return self.keys

    async def hook_part(
        self, context: HandlerContext, request: Request, handle: Handler
    ) -> Parts | None:
        return await self.around(Facts(context, request), handle)

    async def around(self, facts: Facts, handle: Handler, /) -> Parts | None:
        parts = await handle(facts.context, facts.request)
        self.seen.append((facts.api, list(facts.acted), len(parts or ())))
        return parts


def test_the_journal_sees_the_answer_as_it_leaves(bench: FaultyBroker) -> None:
    journal = Journal()
    hooks = BenchHooks(bench.seams, bench.faults, journal)
    bench.rules(
        {"keys": ["Heartbeat"], "observe": True},
        {"keys": ["Heartbeat"], "error": "NOT_COORDINATOR", "id": "lost"},
    )
    assert bench.call("Heartbeat", 4, group_id="g").error_code == 16
    assert journal.seen == []
    bench.rules({"keys": ["Heartbeat"], "error": "NOT_COORDINATOR"})
    journal.keys = {HEARTBEAT, METADATA}
    hooks.refresh()
    assert set(bench.seams.hooks) == {HEARTBEAT, METADATA}
    assert bench.call("Heartbeat", 4, group_id="g").error_code == 16
    bench.call("Metadata", 12, topics=None)
    assert journal.seen == [("Heartbeat", ["f2"], 1), ("Metadata", [], 1)]
    bench.faults.clear()
    assert bench.call("Heartbeat", 4, group_id="g").error_code != 16
    journal.keys = set()
    hooks.refresh()
    assert not bench.seams.hooks
