"""Client metrics (KIP-714): who pushes what, waits for a value, and subscriptions."""

from collections.abc import Mapping
from typing import Annotated, Final

import msgspec

from broker_lite.control.cluster.config_rules import plan_replacement
from broker_lite.control.metadata.image import CLIENT_METRICS_RESOURCE
from broker_lite.control.telemetry.clients import TelemetryClient, shown_id
from broker_lite.control.telemetry.otlp import HINT, is_readable
from broker_lite.control.telemetry.series import Series
from broker_lite.errors import ErrorCode
from broker_lite.server.life import Life
from broker_lite.settings.configs.client_metrics_config import (
    ALL_METRICS,
    client_metrics_config,
)
from broker_lite.testbench.bounds import LISTED_MAX, Limit, TimeoutMs
from broker_lite.testbench.control.resource import Call, Done, Resource
from broker_lite.testbench.turns import Turns

_INTERVAL_MS: Final = 100
_COUNTER: Final = "counter"
_GAUGE: Final = "gauge"


class MetricView(msgspec.Struct, kw_only=True):
    """The last value of one of a client's metrics.

    Attributes:
        name: as the client tells it.
        labels: such as the topic.
        value: of a counter, what all pushes have told together.
        kind: gauge or counter.
        unit: mostly empty.
        updated_ms: when it was pushed, in milliseconds since 1970.
    """

    name: str
    labels: dict[str, str]
    value: float
    kind: str
    unit: str
    updated_ms: int


class TelemetryView(msgspec.Struct, kw_only=True):
    """A client that has asked for its subscription, or has pushed.

    Attributes:
        client_id: of its requests.
        instance_id: of the client, as Kafka writes it.
        node: the broker that it talked to.
        software: name and version as the client told them.
        client: HOST:PORT of the client.
        is_known: whether the broker still goes by what it told the client.
        is_ended: whether the client has said that no further push comes.
        requested: beginnings of the names of metrics that it was told to push; * for all.
        interval_ms: between two pushes.
        pushes: how many were taken.
        pushed_bytes: their size as they came.
        pushed_ms: when the last one came, in milliseconds since 1970; null if there is none.
        refused: how many were refused.
        last_refusal: the error of the last of those; empty if there is none.
        resource: what the client says of itself, such as its group_id.
        metrics: the last values, in the order in which they came first.
        left_out: how many values were not kept, because they were too many, too long or of another
            kind, and how many attributes of the client.
        note: why there are no metrics though there are pushes; mostly empty.
    """

    client_id: str
    instance_id: str
    node: int
    software: str
    client: str
    is_known: bool
    is_ended: bool
    requested: list[str]
    interval_ms: int
    pushes: int
    pushed_bytes: int
    pushed_ms: int | None
    refused: int
    last_refusal: str
    resource: dict[str, str]
    metrics: list[MetricView]
    left_out: int
    note: str


class SubscriptionView(msgspec.Struct, kw_only=True):
    """Which clients are to push what.

    Attributes:
        name: of the resource of the type client-metrics.
        metrics: beginnings of names; * for all.
        interval_ms: between two pushes.
        match: each a NAME=REGEX that clients have to match; empty for all clients.
    """

    name: str
    metrics: list[str]
    interval_ms: int
    match: list[str]


class TelemetryQuery(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Which clients and metrics are told.

    Attributes:
        client_id: only clients with this id.
        instance_id: only the client whose instance has this id.
        metric: only metrics whose name begins so.
        limit: how many metrics at most, of all clients together.
    """

    client_id: str | None = None
    instance_id: str | None = None
    metric: str = ""
    limit: Limit = LISTED_MAX


class TelemetryWait(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """What a client has to have pushed.

    Attributes:
        client_id: of the client; any one if it is left out.
        metric: the name of a metric that it has to have; any if it is left out.
        labels: that the value of the metric has to have, among others.
        at_least: the value, or a larger one.
        pushes: how many pushes there have to be.
        is_ended: true waits for the last push of a client that closes; what it does after that push
            is not in it, such as the last records of a Java producer.
        timeout_ms: how long to wait.
    """

    client_id: str | None = None
    metric: str = ""
    labels: dict[str, str] = {}
    at_least: float | None = None
    pushes: Annotated[int, msgspec.Meta(ge=0)] = 1
    is_ended: bool = False
    timeout_ms: TimeoutMs = 30_000


class SubscriptionChange(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Which clients are to push what; a client is told when it asks, mostly as it connects.

    Attributes:
        metrics: beginnings of names; * for all, as if it is left out.
        interval_ms: between two pushes, from 100 on.
        match: regular expressions by client_id, client_instance_id, client_software_name,
            client_software_version, client_source_address, client_source_port.
    """

    metrics: list[str] = msgspec.field(default_factory=lambda: [ALL_METRICS])
    interval_ms: int = _INTERVAL_MS
    match: dict[str, str] = {}


async def list_telemetry(call: Call) -> list[TelemetryView]:
    """List the clients that push their own metrics, with the last value of each."""
    query = call.query
    assert isinstance(query, TelemetryQuery)
    return await _views(
        call.bench.life,
        query.client_id,
        query.metric,
        {},
        query.limit,
        instance_id=query.instance_id,
    )


async def wait_for_telemetry(call: Call) -> list[TelemetryView]:
    """Wait until a client has pushed what it should; tell the clients of which that is true."""
    wanted, bench = call.body, call.bench
    assert isinstance(wanted, TelemetryWait)
    found: list[TelemetryView] = []

    async def is_met() -> bool:
        nonlocal found
        life, metric, labels = bench.life, wanted.metric, wanted.labels
        found = await _views(life, wanted.client_id, metric, labels, LISTED_MAX)
        return any(_is_met(wanted, each) for each in found)

    async def tell() -> list[TelemetryView]:
        return found

    what = f"what {wanted.client_id or 'a client'} pushes"
    told = await bench.waits.until_all(is_met, tell, wanted.timeout_ms, what)
    return [each for each in told if _is_met(wanted, each)]


async def forget_telemetry(call: Call) -> Done:
    """Forget all clients and what they have pushed; they have to ask for their subscription."""
    telemetry = call.bench.life.telemetry.begun
    if telemetry is not None:
        telemetry.clients.clear()
    return Done()


async def list_subscriptions(call: Call) -> list[SubscriptionView]:
    """List which clients are to push what, by the configs of the type client-metrics."""
    cluster = call.bench.life.cluster
    return [
        _subscription(name, cluster.configs(CLIENT_METRICS_RESOURCE, name))
        for name in sorted(cluster.configured(CLIENT_METRICS_RESOURCE))
    ][:LISTED_MAX]


def _subscription(name: str, overrides: Mapping[str, str]) -> SubscriptionView:
    config = client_metrics_config(name, overrides)
    return SubscriptionView(
        name=name,
        metrics=list(config.metrics),
        interval_ms=config.interval_ms,
        match=list(config.match),
    )


async def subscribe(call: Call) -> Done:
    """Let clients push metrics: the configs of a resource of the type client-metrics."""
    wanted = call.body
    assert isinstance(wanted, SubscriptionChange)
    match = ",".join(f"{name}={pattern}" for name, pattern in wanted.match.items())
    configs = {
        "metrics": ",".join(wanted.metrics),
        "interval.ms": str(wanted.interval_ms),
        **({"match": match} if match else {}),
    }
    _replace(call, configs)
    return Done()


async def unsubscribe(call: Call) -> Done:
    """Remove a resource of the type client-metrics; its metrics are pushed no more."""
    _replace(call, {})
    return Done()


def _replace(call: Call, configs: Mapping[str, str]) -> None:
    """Put the configs of a subscription in place of those that it has.

    Raises:
        BrokerError: they are wrong.
    """
    cluster, name = call.bench.life.cluster, call.path["name"]
    values = plan_replacement(cluster, CLIENT_METRICS_RESOURCE, name, [*configs.items()])
    if values:
        cluster.alter_configs([(CLIENT_METRICS_RESOURCE, name, values)])


async def _views(
    life: Life,
    client_id: str | None,
    metric: str,
    labels: Mapping[str, str],
    limit: int,
    *,
    instance_id: str | None = None,
) -> list[TelemetryView]:
    """Return the clients with their metrics; others run in between."""
    telemetry, now_ms = life.telemetry.begun, life.clock.steady_ms()
    views: list[TelemetryView] = []
    turns = Turns()
    for client in () if telemetry is None else telemetry.clients:
        is_wanted = client_id in (None, client.identity.client_id)
        if is_wanted and instance_id in (None, shown_id(client.instance_id)):
            metrics = await _metrics(client, metric, labels, limit, turns)
            limit -= len(metrics)
            views.append(_view(client, metrics, now_ms))
            if len(views) == LISTED_MAX:
                break
        await turns.next()
    return views


def _view(client: TelemetryClient, metrics: list[MetricView], now_ms: int) -> TelemetryView:
    identity, refusal = client.identity, client.last_refusal
    is_unread = client.pushed_bytes > 0 and not is_readable()
    return TelemetryView(
        client_id=identity.client_id,
        instance_id=shown_id(client.instance_id),
        node=identity.node_id,
        software=f"{identity.software_name} {identity.software_version}",
        client=f"{identity.address}:{identity.port}",
        is_known=client.instance is not None and client.instance.expires_ms > now_ms,
        is_ended=client.is_ended,
        requested=[*client.wanted.metrics],
        interval_ms=client.wanted.interval_ms,
        pushes=client.pushes,
        pushed_bytes=client.pushed_bytes,
        pushed_ms=client.pushed_ms,
        refused=client.refused,
        last_refusal="" if refusal is ErrorCode.NONE else refusal.name,
        resource=dict(client.resource),
        metrics=metrics,
        left_out=client.series.left_out,
        note=HINT if is_unread else "",
    )


async def _metrics(
    client: TelemetryClient, begins: str, labels: Mapping[str, str], limit: int, turns: Turns
) -> list[MetricView]:
    found: list[MetricView] = []
    for (name, own), series in [*client.series.items()]:
        if len(found) == limit:
            break
        if name.startswith(begins) and labels.items() <= dict(own).items():
            found.append(_metric(name, dict(own), series))
        await turns.next()
    return found


def _metric(name: str, labels: dict[str, str], series: Series) -> MetricView:
    return MetricView(
        name=name,
        labels=labels,
        value=series.value,
        kind=_COUNTER if series.is_counter else _GAUGE,
        unit=series.unit,
        updated_ms=series.updated_ms,
    )


def _is_met(wanted: TelemetryWait, view: TelemetryView) -> bool:
    if view.pushes < wanted.pushes or (wanted.is_ended and not view.is_ended):
        return False
    if not wanted.metric and wanted.at_least is None and not wanted.labels:
        return True
    return any(
        (not wanted.metric or each.name == wanted.metric)
        and (wanted.at_least is None or each.value >= wanted.at_least)
        for each in view.metrics
    )


RESOURCES = (
    Resource(
        "GET", "/v1/telemetry", list_telemetry, answer=list[TelemetryView], query=TelemetryQuery
    ),
    Resource("DELETE", "/v1/telemetry", forget_telemetry),
    Resource(
        "POST",
        "/v1/telemetry/wait",
        wait_for_telemetry,
        answer=list[TelemetryView],
        body=TelemetryWait,
    ),
    Resource(
        "GET",
        "/v1/telemetry/subscriptions",
        list_subscriptions,
        answer=list[SubscriptionView],
    ),
    Resource("PUT", "/v1/telemetry/subscriptions/{name}", subscribe, body=SubscriptionChange),
    Resource("DELETE", "/v1/telemetry/subscriptions/{name}", unsubscribe),
)
