"""Faults: rules that say which requests go wrong, and how."""

import msgspec

from broker_lite.testbench.bounds import TimeoutMs
from broker_lite.testbench.control.resource import Call, Done, OneOrMany, Resource
from broker_lite.testbench.faults.fault import Fault, FaultState
from broker_lite.testbench.faults.rules import Rule


class Rules(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Rules that are put in force together, or none of them.

    Attributes:
        rules: in their order; the first that takes a request acts on it.
    """

    rules: list[Rule]


class AddedFaults(msgspec.Struct, kw_only=True):
    """Rules that are in force now.

    Attributes:
        id: of the first rule.
        rules: each rule with what is known of it.
    """

    id: str
    rules: list[FaultState]


class HitsWanted(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """How often a rule has to act, and how long to wait for that.

    Attributes:
        hits: in all, since it was added.
        timeout_ms: after this, the answer is 408 and tells what came near.
    """

    hits: int = 1
    timeout_ms: TimeoutMs = 30_000


class Release(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """How many held requests go on.

    Attributes:
        count: the first ones; None for all.
    """

    count: int | None = None


class Released(msgspec.Struct, kw_only=True):
    """How many requests went on."""

    released: int


async def add_faults(call: Call) -> AddedFaults:
    """Put rules in force, after those that are."""
    body = call.body
    rules = body.rules if isinstance(body, Rules) else [body]
    added = call.bench.faults.add([rule for rule in rules if isinstance(rule, Rule)])
    return AddedFaults(id=added[0].id if added else "", rules=[each.state() for each in added])


async def list_faults(call: Call) -> list[FaultState]:
    """List all rules in their order, also those that are spent."""
    return [fault.state() for fault in call.bench.faults.list()]


async def clear_faults(call: Call) -> Done:
    """Remove all rules, release what they hold, end all scripts, and put certificates back."""
    call.bench.clear(faults=True, journal=False)
    return Done()


async def get_fault(call: Call) -> FaultState:
    """Tell how often a rule acted, what it holds, and which requests came near it."""
    return _fault(call).state()


async def remove_fault(call: Call) -> FaultState:
    """Remove a rule, release what it holds, and tell how often it acted."""
    return call.bench.faults.remove(call.path["id"]).state()


async def wait_for_hits(call: Call) -> FaultState:
    """Wait until a rule has acted so often."""
    wanted, fault = call.body, _fault(call)
    assert isinstance(wanted, HitsWanted)
    await fault.wait(wanted.hits, wanted.timeout_ms)
    return fault.state()


async def release(call: Call) -> Released:
    """Let requests go on that a rule holds."""
    wanted = call.body
    assert isinstance(wanted, Release)
    return Released(released=_fault(call).release(wanted.count))


def _fault(call: Call) -> Fault:
    return call.bench.faults.get(call.path["id"])


RESOURCES = (
    Resource(
        "POST", "/v1/faults", add_faults, answer=AddedFaults, body=OneOrMany("rules", Rules, Rule)
    ),
    Resource("GET", "/v1/faults", list_faults, answer=list[FaultState]),
    Resource("DELETE", "/v1/faults", clear_faults),
    Resource("GET", "/v1/faults/{id}", get_fault, answer=FaultState),
    Resource("DELETE", "/v1/faults/{id}", remove_fault, answer=FaultState),
    Resource("POST", "/v1/faults/{id}/wait", wait_for_hits, answer=FaultState, body=HitsWanted),
    Resource("POST", "/v1/faults/{id}/release", release, answer=Released, body=Release),
)
