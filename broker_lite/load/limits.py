"""Asks a broker-lite who was the limit of the connections of this load, while it runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import partial
from typing import Final

from broker_lite.errors import ClientError
from broker_lite.load.jobs import Jobs
from broker_lite.testbench.http.client import ControlClient, refusal_text

_PATH: Final = "/v1/limits?window_ms="
_WINDOW_S_MAX: Final = 10.0
_MORE_S: Final = 5.0
_OK: Final = 200
_TEXT_MAX: Final = 300
_SOFTWARE: Final = "broker-lite"


class LimitsMeter:
    """Asks once, for half of the time that is measured.

    Attributes:
        found: what the broker said; empty if nobody asked.
    """

    def __init__(self, url: str | None, duration_s: float) -> None:
        """Ask nothing yet.

        Args:
            url: of the control API; None for nobody to ask.
            duration_s: how long is measured.
        """
        self.found: dict[str, object] = {}
        self._client = None if url is None else ControlClient(url)
        self._window_s = min(duration_s / 2, _WINDOW_S_MAX)
        self._jobs = Jobs()

    def begin(self) -> None:
        """Ask, in a thread."""
        if self._client is not None:
            self._jobs.start(partial(self._ask, self._client), self._note)

    def wait(self) -> None:
        """Wait for the answer, but not for long."""
        self._jobs.collect(self._window_s + _MORE_S)

    def _ask(self, client: ControlClient) -> Mapping[str, object]:
        path = f"{_PATH}{max(int(self._window_s * 1000), 1)}"
        answer = client.request("GET", path, timeout_s=self._window_s + _MORE_S)
        if answer.status != _OK:
            raise ClientError(refusal_text(answer.body)[:_TEXT_MAX])
        return summary(answer.body)

    def _note(self, result: Mapping[str, object] | ClientError) -> None:
        if isinstance(result, ClientError):
            self.found = {"problem": str(result)[:_TEXT_MAX]}
        else:
            self.found = dict(result)


def summary(body: object) -> Mapping[str, object]:
    """Return what the broker said of most of the bytes that this load has moved.

    Raises:
        ClientError: it is no answer about limits.
    """
    views = body.get("connections") if isinstance(body, dict) else None
    if not isinstance(views, list):
        raise ClientError("no answer about limits")
    weights: Counter[str] = Counter()
    heaviest: dict[str, tuple[int, str]] = {}
    counts: Counter[str] = Counter()
    for view in views:
        if not isinstance(view, dict) or not _is_ours(view):
            continue
        limit = str(view.get("limit"))[:_TEXT_MAX]
        weight = 1 + sum(_count(view.get(name)) for name in ("in_bytes", "out_bytes"))
        weights[limit] += weight
        counts[limit] += 1
        heaviest[limit] = max(
            heaviest.get(limit, (0, "")), (weight, str(view.get("sentence"))[:_TEXT_MAX])
        )
    if not weights:
        raise ClientError("it saw no request of this load")
    ((limit, _),) = weights.most_common(1)
    return {
        "limit": limit,
        "sentence": heaviest[limit][1],
        "connections": f"{counts[limit]} of {counts.total()} connections",
    }


def _is_ours(view: Mapping[str, object]) -> bool:
    software = str(view.get("software"))
    return software.startswith(_SOFTWARE) and _count(view.get("requests")) > 0


def _count(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
