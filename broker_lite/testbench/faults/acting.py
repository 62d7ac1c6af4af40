"""What a rule does to a request that it takes."""

import logging

from broker_lite.handler.context import Handler, HandlerContext, Parts, Request, WireAnswer
from broker_lite.testbench.facts import Facts
from broker_lite.testbench.faults.answers import Answer
from broker_lite.testbench.faults.claim import Claim
from broker_lite.testbench.faults.failing import Failing
from broker_lite.testbench.faults.fault import Fault
from broker_lite.testbench.faults.poison.answer import poison
from broker_lite.testbench.faults.problems import CannotApply
from broker_lite.testbench.faults.rewrite import CORRELATION_ID, rewrite
from broker_lite.testbench.faults.wire_faults import FaultAnswer, frame_of

logger = logging.getLogger("broker_lite.testbench")


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


async def act(claim: Claim, handle: Handler) -> Parts | None:
    """Answer a request as a rule says; serve it normally if the rule cannot be applied.

    The rule has hit the request when it acts: at once if it keeps the request back or refuses it,
    otherwise when the answer is there. A rule that is removed meanwhile does not act.

    Args:
        claim: of the rule, on the request.
        handle: serves the request.
    """
    fault, facts = claim.fault, claim.facts
    served = _Served(facts.context, handle)
    try:
        return await _act(claim, served)
    except CannotApply as reason:
        claim.give_up(f"{facts.api}: {reason}")
    except Exception as bug:
        if served.has_failed or fault.rule.silence:
            raise
        logger.exception("fault %s could not be applied", fault.id)
        claim.give_up(f"{facts.api}: {bug!r}")
    finally:
        claim.give_up()  # the client has gone before it was the rule's turn
    return served.parts if served.has_run else await served.run(facts.request)


async def _act(claim: Claim, served: _Served) -> Parts | None:
    fault, facts = claim.fault, claim.facts
    rule, request = fault.rule, facts.request
    parts: Parts | None
    match rule.action:
        case "error":
            text = f"fault {fault.id} of the test bench"
            failing = Failing(rule, fault.matcher, facts, text)
            parts = await failing.answer(served.run)
            if not claim.hit() and not failing.is_undone:
                return served.parts
        case "silence":
            fault.check_room()
            claim.hit()
            await fault.be_silent()
            return None
        case "drop" if rule.drop == "before":
            claim.hit()
            how = f"fault {fault.id} drops the connection before {facts.api} is handled"
            parts = FaultAnswer(how, None).closing(reset=rule.reset)
        case "hold":
            fault.check_room()
            claim.hit()
            await fault.hold()
            parts = await served.run(request)
        case _:
            parts = await served.run(request)
    if claim.is_open:
        changed = _changed(fault, facts, parts)
        if not claim.hit():
            return parts
        parts = changed
    elif not fault.is_removed:
        parts = _changed(fault, facts, parts)
    await fault.delay()
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
        request = request._replace(correlation_id=correlation_id)
    return _damaged(fault, facts, frame_of(request, parts))


def _damaged(fault: Fault, facts: Facts, frame: bytes) -> FaultAnswer:
    """Return an answer that leaves cut off, in pieces, or with a wrong correlation id."""
    rule = fault.rule
    if rule.cut_at is None:
        return FaultAnswer(f"fault {fault.id} sends the answer", frame, rule.split or ())
    how = f"fault {fault.id} cuts the answer to {facts.api} at {rule.cut_at}"
    return FaultAnswer(how, frame[: rule.cut_at]).closing()
