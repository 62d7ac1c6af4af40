"""Says in one sentence who was the limit of a run, from its result."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_BUSY: Final = 0.9
_KEPT: Final = 0.99
_NOT_ASKED: Final = "The broker was not asked (--control)."


def verdict(result: Mapping[str, object]) -> str:
    """Return the sentence.

    Args:
        result: of a run, as result_of() returns it.
    """
    wanted = _number(result, "requests_per_s")
    reached = _number(result, "measured", "requests_per_s") or 0.0
    if not reached:
        return "No request was answered in the time that was measured."
    if wanted is not None and reached >= _KEPT * wanted:
        return f"Nobody was the limit: the rate of {wanted:,.1f} requests/s was kept."
    missed = ""
    if wanted is not None:
        missed = f"The rate was not kept: {reached:,.1f} of {wanted:,.1f} requests/s. "
    return missed + _who(result)


def _who(result: Mapping[str, object]) -> str:
    client = _cores(result)
    processes = _number(result, "settings", "processes") or 1.0
    is_busy = client >= _BUSY * processes
    limits = result.get("limits")
    if isinstance(limits, Mapping) and limits.get("sentence"):
        seen = f"What the broker saw on {limits.get('connections')}: {limits.get('sentence')}"
        return f"{seen} {_client_text(client, processes)}" if is_busy else seen
    why = limits.get("problem") if isinstance(limits, Mapping) else None
    asked = f"The broker does not tell: {why}." if why else _NOT_ASKED
    if is_busy:
        return f"The client is the limit: {_client_text(client, processes)}"
    broker_s = _number(result, "cpu", "broker_s")
    seconds = _number(result, "measured", "seconds")
    if broker_s is not None and seconds:
        return (
            f"The client was not busy ({client:.0%} of a CPU), the broker used"
            f" {broker_s / seconds:.0%} of one. {asked}"
        )
    return f"The client was not the limit by its CPU ({client:.0%} of one). {asked}"


def _client_text(cores: float, processes: float) -> str:
    if processes == 1:
        return f"The client used {cores:.0%} of one CPU, and one process has no more."
    return f"The client used {cores:.1f} CPUs with {processes:.0f} processes."


def _cores(result: Mapping[str, object]) -> float:
    seconds = _number(result, "measured", "seconds")
    return (_number(result, "cpu", "client_s") or 0.0) / seconds if seconds else 0.0


def _number(result: Mapping[str, object], *place: str) -> float | None:
    found: object = result
    for name in place:
        found = found.get(name) if isinstance(found, Mapping) else None
    return float(found) if isinstance(found, int | float) else None
