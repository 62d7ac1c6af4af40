"""What clients push of their own metrics (KIP-714), for a test that asserts on them."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Final, Self
from urllib.parse import quote, urlencode

from broker_lite.testing.controlled import WAIT, Controlled, elements, given, in_ms, members

TELEMETRY_SUBSCRIPTION: Final = "broker_lite.testing"
TELEMETRY_INTERVAL: Final = timedelta(milliseconds=100)


@dataclass(frozen=True, slots=True)
class ClientTelemetry:
    """A client that pushes its metrics, as it was when the broker was asked.

    Attributes:
        client_id: of its requests.
        instance_id: of the client, as Kafka writes it.
        software: name and version as the client told them.
        pushes: how many pushes were taken.
        refused: how many pushes were refused.
        last_refusal: the error of the last of those; empty if there is none.
        is_ended: whether the client has said that no further push comes.
        requested: beginnings of the names of metrics that it was told to push; * for all.
        resource: what it says of itself, such as its group_id.
        metrics: the last value of each metric by its name and labels, which are sorted.
        note: why there are no metrics though there are pushes; mostly empty.
    """

    client_id: str
    instance_id: str
    software: str
    pushes: int
    refused: int
    last_refusal: str
    is_ended: bool
    requested: tuple[str, ...]
    resource: Mapping[str, str]
    metrics: Mapping[tuple[str, tuple[tuple[str, str], ...]], float]
    note: str

    @classmethod
    def of(cls, answer: Mapping[str, object]) -> Self:
        """Return the client that an element of /v1/telemetry is about."""
        told = {name: answer[name] for name in cls.__slots__}
        told["requested"] = tuple(map(str, elements(answer["requested"])))
        metrics: dict[tuple[str, tuple[tuple[str, str], ...]], float] = {}
        for each in map(members, elements(answer["metrics"])):
            labels = tuple(
                sorted((name, str(text)) for name, text in members(each["labels"]).items())
            )
            value = each["value"]
            metrics[str(each["name"]), labels] = float("nan" if value is None else str(value))
        told["metrics"] = metrics
        return cls(**told)  # type: ignore[arg-type]  # as the control API has them

    def value(self, metric: str, **labels: str) -> float:
        """Return the last value of the only metric of this name with these labels, among others.

        Raises:
            KeyError: there is none, or there are several; the text lists their labels.
        """
        wanted = labels.items()
        found = {
            own: value
            for (name, own), value in self.metrics.items()
            if name == metric and wanted <= dict(own).items()
        }
        if len(found) != 1:
            raise KeyError(f"{len(found)} metrics {metric!r}: {[*map(dict, found)]}")
        return found.popitem()[1]


class TelemetryCommands(Controlled):
    """What lets clients push their own metrics, and shows them."""

    def subscribe_telemetry(
        self,
        *metrics: str,
        interval: timedelta = TELEMETRY_INTERVAL,
        name: str = TELEMETRY_SUBSCRIPTION,
        **match: str,
    ) -> None:
        """Let clients that connect from now on push their metrics, until the next reset.

        A client that is connected already asks again after the interval that it was told before,
        which is five minutes without a subscription.

        Args:
            metrics: beginnings of names; none for all.
            interval: between two pushes, 100 ms or more.
            name: of the subscription; one of the same name is replaced.
            match: regular expressions, such as client_id="app-.*".

        Raises:
            BrokerFailed: a value is wrong.
        """
        body = {"metrics": [*metrics] or ["*"], "interval_ms": round(in_ms(interval))}
        path = f"/v1/telemetry/subscriptions/{quote(name, safe='')}"
        self.control("PUT", path, {**body, "match": match})

    def telemetry(self, *, client_id: str | None = None, metric: str = "") -> list[ClientTelemetry]:
        """Return the clients that push their metrics, with the last value of each.

        Args:
            client_id: only clients with this id.
            metric: only metrics whose name begins so.
        """
        query = urlencode(given({"client_id": client_id, "metric": metric or None}))
        return _clients(self.control("GET", f"/v1/telemetry{'?' if query else ''}{query}"))

    def wait_for_telemetry(
        self,
        metric: str = "",
        *,
        client_id: str | None = None,
        at_least: float | None = None,
        labels: Mapping[str, str] | None = None,
        pushes: int = 1,
        is_ended: bool = False,
        timeout: timedelta = WAIT,
    ) -> list[ClientTelemetry]:
        """Wait until a client has pushed what it should; return the clients that have.

        Args:
            metric: the name of a metric; "" for any.
            client_id: of the client; None for any.
            at_least: the value of the metric, or a larger one.
            labels: that the value has to have, among others.
            pushes: how many pushes there have to be.
            is_ended: whether to wait for the last push of a client that closes.
            timeout: how long to wait.

        Raises:
            BrokerFailed: the time is over; the text tells what clients have pushed.
        """
        __tracebackhide__ = True
        wanted = {
            "metric": metric,
            "client_id": client_id,
            "at_least": at_least,
            "labels": None if labels is None else dict(labels),
            "pushes": pushes,
            "is_ended": is_ended,
        }
        body = {**given(wanted), "timeout_ms": round(in_ms(timeout))}
        return _clients(self.control("POST", "/v1/telemetry/wait", body, wait=timeout))


def _clients(answer: object) -> list[ClientTelemetry]:
    return [ClientTelemetry.of(members(each)) for each in elements(answer)]
