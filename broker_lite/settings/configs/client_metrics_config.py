"""The configs of a subscription to client metrics (resource type 16, KIP-714 and KIP-1000).

A subscription names the metrics that clients push, how often they do, and which clients. Its values
are checked in Kafka's order, and its errors have Kafka's codes and texts. The regular expressions
of `match` are compiled elsewhere: this room only takes the list apart.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple

from broker_lite.errors import InvalidConfig, InvalidRequest
from broker_lite.settings.setting import ConfigType, InvalidValue, Setting
from broker_lite.settings.values import Between, parse

METRICS: Final = "metrics"
INTERVAL_MS: Final = "interval.ms"
MATCH: Final = "match"
ALL_METRICS: Final = "*"
"""The name that stands for all metrics of a client."""

DEFAULT_INTERVAL_MS: Final = 300_000
_INTERVAL_MS_MIN: Final = 100
_INTERVAL_MS_MAX: Final = 3_600_000

CLIENT_METRICS_SETTINGS: Final[Mapping[str, Setting]] = MappingProxyType(
    {
        setting.name: setting
        for setting in (
            Setting(
                INTERVAL_MS,
                ConfigType.INT,
                str(DEFAULT_INTERVAL_MS),
                "How often a client pushes its metrics.",
                Between(_INTERVAL_MS_MIN, _INTERVAL_MS_MAX),
                dynamic=True,
            ),
            Setting(
                MATCH,
                ConfigType.LIST,
                "",
                "Which clients push: NAME=REGEX, which have to match all; empty for every client.",
                dynamic=True,
            ),
            Setting(
                METRICS,
                ConfigType.LIST,
                "",
                "Beginnings of the names of metrics that are pushed; * for all.",
                dynamic=True,
            ),
        )
    }
)
"""The configs of a subscription by name."""


class SubscriptionConfig(NamedTuple):
    """The checked configs of one subscription.

    Attributes:
        metrics: beginnings of names, without repeats.
        interval_ms: between two pushes of a client.
        match: each a NAME=REGEX that is not taken apart yet.
    """

    metrics: tuple[str, ...]
    interval_ms: int
    match: tuple[str, ...]


def client_metrics_config(name: str, overrides: Mapping[str, str]) -> SubscriptionConfig:
    """Check the configs of a subscription and return their values.

    Raises:
        InvalidRequest: there is no name, a config that does not exist, or an interval that is out
            of its bounds.
        InvalidConfig: a text is no value of its type.

    Rule: P-132 (ClientMetricsConfigs.validate).
    """
    if not name:
        raise InvalidRequest("Subscription name can't be empty")
    for key in overrides:
        if key not in CLIENT_METRICS_SETTINGS:
            raise InvalidRequest(f"Unknown client metrics configuration: {key}")
    metrics = _list(METRICS, overrides)
    interval_ms = _interval_ms(overrides)
    match = _list(MATCH, overrides)
    if not _INTERVAL_MS_MIN <= interval_ms <= _INTERVAL_MS_MAX:
        raise InvalidRequest(
            f"Invalid value {interval_ms} for {INTERVAL_MS}, interval must be between "
            f"{_INTERVAL_MS_MIN} and {_INTERVAL_MS_MAX} (1 hour)"
        )
    return SubscriptionConfig(metrics, interval_ms, match)


def split_match(pattern: str) -> Sequence[str]:
    """Return the parts of a NAME=REGEX between the signs; empty ones at the end do not count."""
    parts = pattern.split("=")
    while parts and not parts[-1]:
        parts.pop()
    return parts


def _list(name: str, overrides: Mapping[str, str]) -> tuple[str, ...]:
    try:
        value = CLIENT_METRICS_SETTINGS[name].parse(overrides.get(name, ""))
    except InvalidValue as error:
        raise InvalidConfig(str(error)) from error
    assert isinstance(value, tuple)
    return value


def _interval_ms(overrides: Mapping[str, str]) -> int:
    """Return the interval, whatever its bounds: Kafka checks them later, with another error."""
    text = overrides.get(INTERVAL_MS)
    if text is None:
        return DEFAULT_INTERVAL_MS
    try:
        value = parse(INTERVAL_MS, ConfigType.INT, text, None)
    except InvalidValue as error:
        raise InvalidConfig(str(error)) from error
    assert isinstance(value, int)
    return value
