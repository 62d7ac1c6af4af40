"""What a run has come to, so far or in the end."""

from collections.abc import Sequence

import msgspec

from broker_lite.testbench.faults.fault import Fault, FaultState
from broker_lite.testbench.journal.match import Comparison, Difference
from broker_lite.testbench.scripts.form import Expectation, StepState


class Outcome(msgspec.Struct, omit_defaults=True, kw_only=True):
    """Whether a script did what it should, and if not, why.

    Attributes:
        ok: all steps are done, all rules are spent, and the expected requests have come.
        is_final: whether it can still change: a failed step and a wrong request stay.
        problems: what is missing or wrong, a line for each.
        unused: the ids of rules that had to act and did not.
        first_difference: from the expected requests.
    """

    ok: bool
    is_final: bool
    problems: list[str] = []
    unused: list[str] = []
    first_difference: Difference | None = None

    @property
    def line(self) -> str:
        """All of it in one line."""
        return "; ".join(self.problems) or "ok"


class ScriptState(msgspec.Struct, omit_defaults=True, kw_only=True):
    """What is known of a run.

    Attributes:
        id: its id.
        name: of the script.
        seed: of the script.
        is_replay: whether it repeats the decisions of another run.
        steps_done: how many steps are done.
        steps: all of them.
        rules: each rule with what is known of it.
        expectation: how many of the expected requests have come; left out for none expected.
        outcome: so far.
    """

    id: str
    name: str
    seed: int
    steps_done: int
    steps: list[StepState]
    rules: list[FaultState]
    outcome: Outcome
    is_replay: bool = False
    expectation: Comparison | None = None


def outcome_of(
    steps: Sequence[StepState],
    faults: Sequence[Fault],
    expected: Expectation,
    comparison: Comparison | None,
) -> Outcome:
    """Return the outcome of a run.

    Args:
        steps: all steps.
        faults: the rules, as they are in force or were.
        expected: by the script.
        comparison: with the expected requests; None if there are none.
    """
    problems = [
        f"step {number} ({step.do}) {_how(step)}"
        for number, step in enumerate(steps, 1)
        if step.state in ("failed", "waiting", "running")
    ]
    ok_ids = expected.unused_ok
    needed = [] if ok_ids is True else [each for each in faults if each.id not in (ok_ids or ())]
    problems += [text for fault in needed if (text := _unspent(fault))]
    difference = None if comparison is None else comparison.first_difference
    if difference is not None:
        problems.append(difference.text)
    has_failed = any(step.state == "failed" for step in steps)
    is_wrong = difference is not None and difference.got is not None
    has_lost = any(each.is_removed and _unspent(each) for each in needed)
    is_ok = not problems and all(step.state == "done" for step in steps)
    return Outcome(
        ok=is_ok,
        is_final=is_ok or has_failed or is_wrong or has_lost,
        problems=problems,
        unused=[fault.id for fault in needed if not fault.hits],
        first_difference=difference,
    )


def _how(step: StepState) -> str:
    return f"failed: {step.error}" if step.state == "failed" else f"is still {step.state}"


def _unspent(fault: Fault) -> str:
    """Tell why a rule is not spent, or not used if it is never spent; empty if it is."""
    hits, count = fault.hits, fault.rule.count or 1
    # a rule that ends by time, or never, has to act once
    wanted = 1 if count < 0 or fault.rule.for_ms is not None else count
    if hits >= wanted:
        return ""
    if hits:
        text = f"rule {fault.id} acted on {hits} of {wanted} requests"
    else:
        text = f"rule {fault.id} acted on no request"
    if fault.is_removed:
        text += " and was removed"
    near = fault.near()
    return f"{text}; nearest: {', '.join(near)}" if near else text
