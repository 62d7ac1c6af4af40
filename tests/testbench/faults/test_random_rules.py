"""Random sets of rules over random requests: each answer can be read, and the broker is unharmed.

`RULE_SETS=10000` in the environment tries more of them.
"""

import asyncio
import os
import random
from typing import Any

from broker_lite.handler.context import CloseConnection, Request, WireAnswer
from broker_lite.handler.table import APIS
from broker_lite.testbench.errors import ControlError
from broker_lite.testbench.faults.fault import Fault
from broker_lite.testbench.faults.poison.catalogue import POISONS
from broker_lite.wire import messages
from broker_lite.wire.primitives import EncodeError
from tests.fuzz.frames import TOPIC, RequestSampler
from tests.support.handler_broker import join
from tests.testbench.conftest import FaultyBroker, SentBytes, request_of

RULE_SETS = int(os.environ.get("RULE_SETS", "150"))
REQUESTS = 6
# UnregisterBroker; JoinGroup and SyncGroup wait for other members
NOT_ASKED = frozenset((64, 11, 14))
ERRORS = ("NOT_LEADER_OR_FOLLOWER", "REQUEST_TIMED_OUT", "UNKNOWN_SERVER_ERROR", "NOT_COORDINATOR")
FIELDS = ("throttle_time_ms", "error_code", "correlation_id", "topics[].error_code", "node_id")


class Source:
    """Random rules and requests from one seed."""

    def __init__(self, seed: int, topic_id: bytes) -> None:
        self.random = random.Random(seed)
        self.topic_id = topic_id
        self.seed = seed

    def maybe(self, chance: float, fields: dict[str, Any]) -> dict[str, Any]:
        return fields if self.random.random() < chance else {}

    def rule(self) -> dict[str, Any]:
        pick = self.random.choice
        return {
            **self.maybe(0.6, {"keys": self.random.sample(sorted(APIS), 8)}),
            **self.maybe(0.3, {"topic": pick((TOPIC, "*", "o?her", "none"))}),
            **self.maybe(0.2, {"partitions": [pick((0, 1, 5))]}),
            **self.maybe(0.1, {"group": "*"}),
            **self.maybe(0.1, {"client_id": pick(("me", "you"))}),
            **self.maybe(0.1, {"where": {"topics[].name": TOPIC}}),
            **self.maybe(0.2, {"skip": pick((1, 2))}),
            **self.maybe(0.5, {"count": pick((2, -1))}),
            **self.maybe(0.2, {"every": 2}),
            **self.maybe(0.2, {"probability": 0.5, "seed": self.seed}),
            **self.maybe(0.1, {"for_ms": 1}),
            **self.maybe(0.1, {"throttle_ms": 3}),
            **self.action(),
        }

    def action(self) -> dict[str, Any]:
        pick = self.random.choice
        error = {"error": pick(ERRORS), **self.maybe(0.2, {"top_level": True})}
        error.update(self.maybe(0.3, {"applied": pick((True, False))}))
        choices: list[dict[str, Any]] = [
            {"observe": True},
            error,
            error,
            {"drop": pick(("before", "after"))},
            {"cut_at": pick((0, 3, 50))},
            {"split": [1, 4, 100]},
            {"rewrite": {pick(FIELDS): pick((0, 7, -1))}},
            {"poison": pick(sorted(POISONS))},
            {"delay_ms": pick((0, {"median": 0.01, "sigma": 0.4}))},
        ]
        return pick(choices)

    def request(self) -> Request:
        while True:
            key = self.random.choice(sorted(APIS.keys() - NOT_ASKED))
            api = APIS[key]
            version = self.random.randint(api.min_version, api.max_version)
            kind, _ = messages.by_api(key)
            sampler = RequestSampler(kind.name, version, self.random.getrandbits(32), self.topic_id)
            try:
                return request_of(kind, version, sampler.value())
            except EncodeError:
                continue


def put_in_force(bench: FaultyBroker, source: Source) -> list[Fault]:
    found: list[Fault] = []
    for _ in range(source.random.randint(1, 4)):
        after = {"after": found[-1].id} if found and source.random.random() < 0.2 else {}
        try:
            found += bench.rules({**source.rule(), **after})
        except ControlError as error:
            if "has no field" not in error.text and "does not go with" not in error.text:
                raise
    return found


async def ask(bench: FaultyBroker, request: Request) -> None:
    """Send a request; what comes back can be read, or is bytes that a fault chose."""
    try:
        async with asyncio.timeout(10):
            parts = await bench.answer(request)
    except CloseConnection:  # the handler's own
        return
    if isinstance(parts, WireAnswer):
        try:
            await parts.leave(SentBytes())
        except CloseConnection as reason:
            assert "fault " in str(reason)  # noqa: PT017 - a close without a fault's is wrong
    elif parts is None:
        assert request.api_key == 0
    else:
        _, kind = messages.by_api(request.api_key)
        data = join(parts)
        assert kind.decode(data, request.api_version)[1] == len(data)


def test_random_rules(bench: FaultyBroker) -> None:
    topic_id = bench.topic(TOPIC)

    async def all_sets() -> None:
        for seed in range(RULE_SETS):
            source = Source(seed, topic_id)
            faults = put_in_force(bench, source)
            for _ in range(REQUESTS):
                bench.now_ms += 0.3
                await ask(bench, source.request())
            for fault in faults:
                state = fault.state()
                assert state.held == 0
                assert state.hits >= 0
                assert not 0 <= fault.rule.count < state.hits
                assert (state.left >= 0) == (fault.rule.count >= 0 or state.left == 0)
            bench.faults.clear()
            assert (bench.faults.held, len(bench.seams.hooks)) == (0, 0)

    asyncio.run(all_sets())
    bench.topic("afterwards")
    assert bench.call("Metadata", 12, topics=None).controller_id == 1
