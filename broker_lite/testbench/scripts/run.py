"""One run of a script: its rules in force, and a task that carries out its steps."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Final

import anyio

from broker_lite.errors import BrokerError, SettingsError
from broker_lite.seed.topics import create_topics
from broker_lite.testbench.bounds import TIMEOUT_MS_MAX
from broker_lite.testbench.errors import ControlError
from broker_lite.testbench.faults.fault import Fault
from broker_lite.testbench.journal.entry_facts import EntryFacts
from broker_lite.testbench.journal.match import Comparing, Comparison
from broker_lite.testbench.journal.render import line
from broker_lite.testbench.journal.waits import wait
from broker_lite.testbench.scripts.fill import fill
from broker_lite.testbench.scripts.form import Acted, Do, Record, StepState, When
from broker_lite.testbench.scripts.outcome import Outcome, ScriptState, outcome_of
from broker_lite.testbench.scripts.prepare import Prepared, body_of
from broker_lite.testbench.turns import Turns

if TYPE_CHECKING:
    from broker_lite.testbench.bench import Bench

logger = logging.getLogger("broker_lite.script")

Ask = Callable[[str, str, bytes], Awaitable[tuple[int, str]]]
"""Carries out method, path and body; returns the status, and the error in words or nothing."""

_OK: Final = 200
_TIMED_OUT: Final = 408
_LOOK_S: Final = 0.01
_TELL_S: Final = 0.1
_LINES_MAX: Final = 10_000


class ScriptRun:
    """A script that runs, or has run.

    Attributes:
        id: of the run.
        faults: its rules, as they are in force.
        steps: what became of each step.
    """

    def __init__(self, run_id: str, prepared: Prepared, bench: "Bench", ask: Ask) -> None:
        """Check whether it can run here, and create the topics.

        Args:
            run_id: its id.
            prepared: the script.
            bench: where it runs.
            ask: carries out the requests of its steps.

        Raises:
            ControlError: it cannot run here; nothing was changed.
        """
        self.id = run_id
        self._prepared = prepared
        self._script = script = prepared.script
        self._bench = bench
        self._ask = ask
        self._check_brokers()
        self.faults = self._make_rules()
        self.steps = [
            StepState(do=f"{step.do.method} {step.do.path}", state="pending")
            for step in script.steps
        ]
        self._create_topics()

    async def begin(self) -> None:
        """Write its records, commit its offsets, put its rules in force, and begin with the steps.

        Raises:
            ControlError: something of this is refused; what was written is there.
        """
        bench = self._bench
        await fill(bench.life, self._prepared.records, self._script.offsets)
        bench.faults.put(self.faults)
        # at least the headers are recorded, for the expectation and the record
        bench.journal.need()
        self._after = bench.journal.last
        self._asked_before = bench.faults.requests
        self._comparing = self._compare()
        self._started_s = monotonic()
        self._task = asyncio.get_running_loop().create_task(self._run())

    # -- the start

    def _check_brokers(self) -> None:
        brokers = len(self._bench.life.nodes.states)
        if brokers < self._script.brokers:
            text = f"the script needs {self._script.brokers} brokers, and there are {brokers}"
            raise ControlError(409, text, "brokers")

    def _make_rules(self) -> list[Fault]:
        faults, decisions = self._bench.faults, self._prepared.decisions
        faults.replay(decisions or ())
        try:
            made = faults.make(self._script.rules)
        finally:
            faults.replay(())
        if decisions is not None:
            for fault in made:
                if fault.schedule.replay is None:  # it never acted
                    fault.schedule.replay = ()
        return made

    def _create_topics(self) -> None:
        try:
            create_topics(self._bench.life.cluster, self._prepared.topics)
        except SettingsError as error:
            at, _, text = str(error).partition(": ")
            raise ControlError(400, text, at) from None
        except BrokerError as error:
            raise ControlError(409, error.message or str(error), "topics") from None

    def _compare(self) -> Comparing | None:
        expected = self._script.expect
        if not expected.requests:
            return None
        others, after = expected.others_ok, self._after
        return Comparing(self._bench.journal, expected.requests, others_ok=others, after=after)

    # -- the steps

    async def _run(self) -> None:
        for step, state in zip(self._script.steps, self.steps, strict=True):
            try:
                state.state = "waiting"
                await self._wait(step.when)
                state.state = "running"
                await self._do(step.do, state)
            except ControlError as error:
                state.error = error.text
            except Exception as bug:
                logger.exception("script %s: %s", self.id, state.do)
                state.error = repr(bug)
            state.state = "failed" if state.error else "done"
            state.at_ms = round((monotonic() - self._started_s) * 1000)
            if state.error:
                logger.warning("script %s: %s failed: %s", self.id, state.do, state.error)
                return
            logger.info("script %s: %s done", self.id, state.do)

    async def _do(self, do: Do, state: StepState) -> None:
        state.status, error = await self._ask(do.method, do.path, body_of(do))
        if state.status != _OK:
            state.error = f"{state.status} {error}"

    async def _wait(self, when: When | None) -> None:
        if when is None:
            return
        if when.after_ms is not None:
            await anyio.sleep(when.after_ms / 1000)
        elif when.rule is not None:
            fault = next(each for each in self.faults if each.id == when.rule)
            await _rule_has_acted(fault, when.hits)
        elif when.match is not None:
            come = partial(wait, self._bench.journal, when.match, count=when.count)
            come = partial(come, after=self._after, arrivals=when.arrivals)
            await _in_time(partial(come, timeout_ms=TIMEOUT_MS_MAX))

    # -- what is known of it

    async def comparison(self) -> Comparison | None:
        """Return how much of the expected requests has come; None if none are expected."""
        return None if self._comparing is None else await self._comparing.go_on()

    async def outcome(self) -> Outcome:
        """Return what it has come to so far."""
        comparison = await self.comparison()
        return outcome_of(self.steps, self.faults, self._script.expect, comparison)

    async def wait(self, timeout_ms: float) -> Outcome:
        """Wait until all is as the script says, or it cannot become so any more.

        Raises:
            ControlError: 408, the time is over; it tells what is missing.
        """
        with anyio.move_on_after(timeout_ms / 1000):
            return await self._final(_LOOK_S)
        outcome = await self.outcome()
        if outcome.is_final:
            return outcome
        raise ControlError(_TIMED_OUT, outcome.line, found=outcome)

    async def _final(self, interval_s: float) -> Outcome:
        while True:
            outcome = await self.outcome()
            if outcome.is_final:
                return outcome
            await anyio.sleep(interval_s)

    async def state(self) -> ScriptState:
        """Return what is known of it."""
        comparison = await self.comparison()
        return ScriptState(
            id=self.id,
            name=self._script.name,
            seed=self._script.seed or 0,
            is_replay=self._prepared.decisions is not None,
            steps_done=sum(step.state == "done" for step in self.steps),
            steps=self.steps,
            rules=[fault.state() for fault in self.faults],
            expectation=comparison,
            outcome=outcome_of(self.steps, self.faults, self._script.expect, comparison),
        )

    async def record(self) -> Record:
        """Return what is needed to repeat it."""
        bench, before = self._bench, self._asked_before
        known = {fault.id for fault in self.faults}
        decisions = [
            Acted(rule=each.rule, match=each.match, request=each.request - before)
            for each in bench.faults.decisions
            if each.request > before and each.rule in known
        ]
        names, turns, lines = bench.journal.topic_names(), Turns(), list[str]()
        for entry in bench.journal.entries(self._after)[-_LINES_MAX:]:
            lines.append(line(EntryFacts(entry, names)))
            await turns.next()
        return Record(script=self._script, decisions=decisions, requests=lines)

    # -- the end

    def end(self) -> None:
        """Carry out no further step, and remove the rules that are still in force."""
        self._task.cancel()
        self._remove_rules()
        self._bench.journal.release()

    def _remove_rules(self) -> None:
        for fault in self.faults:
            if not fault.is_removed:
                with suppress(ControlError):
                    self._bench.faults.remove(fault.id)

    async def tell_outcome(self) -> None:
        """Log the outcome as soon as it is final, or when the broker stops."""
        try:
            outcome = await self._final(_TELL_S)
        except asyncio.CancelledError:
            compared = None if self._comparing is None else self._comparing.told()
            outcome = outcome_of(self.steps, self.faults, self._script.expect, compared)
            logger.error("script: %s", outcome.line)
            raise
        logger.log(logging.INFO if outcome.ok else logging.ERROR, "script: %s", outcome.line)


async def _rule_has_acted(fault: Fault, hits: int | None) -> None:
    """Wait for a rule.

    Args:
        fault: the rule.
        hits: on how many requests; None until it is spent.
    """
    if hits is None and fault.rule.for_ms is not None:
        await _is_over(fault)
        return
    wanted = hits or fault.rule.count or 1
    await _in_time(lambda: fault.wait(wanted, TIMEOUT_MS_MAX))


async def _is_over(fault: Fault) -> None:
    """Look from time to time whether the time of a rule is over."""
    while True:
        if fault.is_removed:
            raise ControlError(404, f"fault {fault.id} was removed")
        if fault.is_over:
            return
        await anyio.sleep(_LOOK_S)


async def _in_time(wait_once: Callable[[], Awaitable[object]]) -> None:
    """Wait as often as the time of a wait is over."""
    while True:
        try:
            await wait_once()
        except ControlError as error:
            if error.status != _TIMED_OUT:
                raise
        else:
            return
