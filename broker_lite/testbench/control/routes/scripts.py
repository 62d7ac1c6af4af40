"""Scripts: rules, steps and expectations that run by themselves, and runs that are repeated."""

import msgspec

from broker_lite.testbench.bounds import TimeoutMs
from broker_lite.testbench.control.control import Control
from broker_lite.testbench.control.resource import Call, OneOrMany, Resource
from broker_lite.testbench.errors import ControlError
from broker_lite.testbench.journal.waits import TIMEOUT_MS
from broker_lite.testbench.scripts.form import Record, Script
from broker_lite.testbench.scripts.outcome import Outcome, ScriptState
from broker_lite.testbench.scripts.run import ScriptRun
from broker_lite.testbench.scripts.runs import prepared


class Replay(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A run that is to be repeated.

    Attributes:
        replay: its record.
    """

    replay: Record


class ScriptWait(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """How long to wait for a script.

    Attributes:
        timeout_ms: after this, the answer is 408 and tells what is missing.
    """

    timeout_ms: TimeoutMs = TIMEOUT_MS


async def start_script(call: Call) -> ScriptState:
    """Run a script from now on, or repeat the decisions of a recorded run by request count."""
    given, control = call.body, _control(call)
    if isinstance(given, Replay):
        try:
            ready = prepared(given.replay, control.check)
        except ControlError as error:
            raise ControlError(error.status, error.text, f"replay.{error.at}") from None
    else:
        assert isinstance(given, Script)
        ready = prepared(given, control.check)
    run = await call.bench.scripts.start(ready, control.carry_out)
    return await run.state()


async def list_scripts(call: Call) -> list[ScriptState]:
    """List the scripts that run or have run, with their outcomes so far."""
    return [await run.state() for run in call.bench.scripts.list()]


async def get_script(call: Call) -> ScriptState:
    """Tell which steps of a script are done, how often its rules acted, and its outcome so far."""
    return await _run(call).state()


async def wait_for_script(call: Call) -> Outcome:
    """Wait until all steps are done, all rules are spent and the expected requests have come.

    It also returns when that cannot be any more: after a failed step or a wrong request.
    """
    wanted = call.body
    assert isinstance(wanted, ScriptWait)
    return await _run(call).wait(wanted.timeout_ms)


async def get_record(call: Call) -> Record:
    """Tell when the rules of a script acted, and which requests came: the record for a replay."""
    return await _run(call).record()


async def end_script(call: Call) -> ScriptState:
    """End a script, remove its rules, and tell what it came to."""
    state = await _run(call).state()
    call.bench.scripts.remove(call.path["id"])
    return state


def _run(call: Call) -> ScriptRun:
    return call.bench.scripts.get(call.path["id"])


def _control(call: Call) -> Control:
    """Return the control function, for the requests of steps."""
    from broker_lite.testbench.control.table import RESOURCES

    return Control(call.bench, RESOURCES)


RESOURCES = (
    Resource(
        "POST",
        "/v1/scripts",
        start_script,
        answer=ScriptState,
        body=OneOrMany("replay", Replay, Script),
    ),
    Resource("GET", "/v1/scripts", list_scripts, answer=list[ScriptState]),
    Resource("GET", "/v1/scripts/{id}", get_script, answer=ScriptState),
    Resource("DELETE", "/v1/scripts/{id}", end_script, answer=ScriptState),
    Resource("POST", "/v1/scripts/{id}/wait", wait_for_script, answer=Outcome, body=ScriptWait),
    Resource("GET", "/v1/scripts/{id}/log", get_record, answer=Record),
)
