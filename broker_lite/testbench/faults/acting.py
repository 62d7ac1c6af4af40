"""What a rule does to a request that it takes."""

import logging
from typing import Final

import anyio

from broker_lite.handler.context import Handler, HandlerContext, Parts, Request, WireAnswer
from broker_lite.testbench.facts import Facts
from broker_lite.testbench.faults.answers import Answer
from broker_lite.testbench.faults.failing import Failing
from broker_lite.testbench.faults.fault import Fault
from broker_lite.testbench.faults.poison.answer import poison
from broker_lite.testbench.faults.problems import CannotApply
from broker_lite.testbench.faults.rewrite import CORRELATION_ID, rewrite
from broker_lite.testbench.faults.wire_faults import FaultAnswer, frame_of

logger = logging.getLogger("broker_lite.testbench")

_CHANGES: Final = frozenset(("rewrite", "poison"))


class _Served:
    """The handler of one request, and what became of it.

    Attributes:
        has_run: whether it has answered.
        has_failed: whether it raised an error.
        parts: its answer.
    """

    def __init__(self, context: HandlerContext, handle: Handler) -> None:
        self._context = context
        self._handle = handle
        self.has_run = False
        self.has_failed = False
        self.parts: Parts | None = None

    async def run(self, request: Request) -> Parts | None:
        """Call the handler, once."""
        self.has_failed = True
        self.parts = await self._handle(self._context, request)
        self.has_failed = False
        self.has_run = True
        return self.parts


async def act(fault: Fault, facts: Facts, handle: Handler) -> Parts | None:
    """Answer a request as a rule says; serve it normally if the rule cannot be applied.

    Args:
        fault: the rule, which took the request.
        facts: of the request.
        handle: serves the request.
    """
    served = _Served(facts.context, handle)
    facts.acted.append(fault.id)
    try:
        return await _act(fault, facts, served)
    except CannotApply as reason:
        text = str(reason)
    except Exception as bug:
        if served.has_failed or fault.rule.silence:
            raise
        logger.exception("fault %s could not be applied", fault.id)
        text = repr(bug)
    facts.acted.remove(fault.id)
    fault.take_back(f"{facts.api}: {text}")
    return served.parts if served.has_run else await served.run(facts.request)


async def _act(fault: Fault, facts: Facts, served: _Served) -> Parts | None:
    rule, request = fault.rule, facts.request
    parts: Parts | None
    match rule.action:
        case "error":
            text = f"fault {fault.id} of the test bench"
            parts = await Failing(rule, fault.matcher, facts, text).answer(served.run)
        case "silence":
            await fault.be_silent()
            return None
        case "drop" if rule.drop == "before":
            how = f"fault {fault.id} drops the connection before {facts.api} is handled"
            parts = FaultAnswer(how, None).closing(reset=rule.reset)
        case "hold":
            await fault.hold()
            parts = await served.run(request)
        case _:
            parts = await served.run(request)
    parts = _changed(fault, facts, parts)
    delay_ms = fault.schedule.delay_ms()
    if delay_ms > 0:
        await anyio.sleep(delay_ms / 1000)
    return parts


def _changed(fault: Fault, facts: Facts, parts: Parts | None) -> Parts | None:
    """Return an answer as it leaves."""
    rule, request = fault.rule, facts.request
    fields = dict(rule.rewrite or {})
    correlation_id = fields.pop(CORRELATION_ID, None)
    if not isinstance(parts, WireAnswer) and (
        fields or rule.poison is not None or (rule.throttle_ms is not None and rule.drop is None)
    ):
        answer = Answer.of(request, parts)
        if fields:
            rewrite(answer, fields)
        if rule.poison is not None:
            poison(answer, rule.poison, fault.matcher, facts)
        if rule.throttle_ms is not None:
            answer.throttle(rule.throttle_ms)
        parts = answer.encoded()
    if rule.drop == "after":
        how = f"fault {fault.id} drops the connection after {facts.api} was handled"
        return FaultAnswer(how, None).closing(reset=rule.reset)
    if rule.cut_at is None and rule.split is None and correlation_id is None:
        return parts
    if parts is None:
        raise CannotApply("the request has no answer")
    if correlation_id is not None:
        assert isinstance(correlation_id, int)
        frame = frame_of(request._replace(correlation_id=correlation_id), parts)
        return FaultAnswer(f"fault {fault.id} changes the correlation id", frame)
    frame = frame_of(request, parts)
    if rule.cut_at is not None:
        how = f"fault {fault.id} cuts the answer to {facts.api} at {rule.cut_at}"
        return FaultAnswer(how, frame[: rule.cut_at]).closing()
    return FaultAnswer(f"fault {fault.id} splits the answer", frame, rule.split or ())
