"""Subscriptions to client metrics: which clients push which metrics, and how often.

A difference to Kafka: the regular expressions of `match` are those of RE2, without backreferences,
lookaround and possessive quantifiers, so that no client id makes a match take long. One that RE2
refuses, or compiles to more than 2,000 instructions, is an illegal pattern; a value of more than
1,000 characters is matched by none.
"""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from broker_lite.coordinator.subscriptions import Pattern, compile_pattern
from broker_lite.errors import BrokerError, InvalidConfig, InvalidRegularExpression
from broker_lite.record.crc import crc32c
from broker_lite.settings.configs.client_metrics_config import (
    ALL_METRICS,
    DEFAULT_INTERVAL_MS,
    client_metrics_config,
    split_match,
)

logger = logging.getLogger(__name__)

ATTRIBUTES: Final = (
    "client_instance_id",
    "client_id",
    "client_software_name",
    "client_software_version",
    "client_source_address",
    "client_source_port",
)
"""What `match` may be about."""

_PROGRAM_SIZE_MAX: Final = 2000
_VALUE_CHARACTERS_MAX: Final = 1000
_MASK: Final = 0xFFFF_FFFF
_SIGN: Final = 0x8000_0000


class Subscription(NamedTuple):
    """One subscription, with its patterns compiled.

    Attributes:
        metrics: beginnings of the names of metrics.
        interval_ms: between two pushes.
        matches: patterns by attribute of the client; all have to match.
    """

    metrics: tuple[str, ...]
    interval_ms: int
    matches: Mapping[str, Pattern]

    def is_for(self, attributes: Mapping[str, str]) -> bool:
        """Whether a client with these attributes is to push; a missing one matches nothing.

        Rule: P-153 (ClientMetricsInstanceMetadata.isMatch).
        """
        return all(_is_match(each, attributes.get(name)) for name, each in self.matches.items())


class Wanted(NamedTuple):
    """What one client is to push.

    Attributes:
        metrics: beginnings of names, sorted; only `*` for all; empty for none.
        interval_ms: between two pushes.
    """

    metrics: tuple[str, ...]
    interval_ms: int


def check_subscription(name: str, overrides: Mapping[str, str]) -> Subscription:
    """Return the subscription that configs describe.

    Raises:
        InvalidRequest, InvalidConfig: they describe none; see the rules.

    See: P-132.
    """
    config = client_metrics_config(name, overrides)
    return Subscription(config.metrics, config.interval_ms, _compiled(config.match))


def wanted_of(subscriptions: Iterable[Subscription], attributes: Mapping[str, str]) -> Wanted:
    """Return what a client is to push by all subscriptions together.

    Rule: P-153 (ClientMetricsManager.createClientInstance).
    """
    metrics: set[str] = set()
    interval_ms = DEFAULT_INTERVAL_MS
    for each in subscriptions:
        if each.is_for(attributes):
            metrics.update(each.metrics)
            interval_ms = min(interval_ms, each.interval_ms)
    told = (ALL_METRICS,) if ALL_METRICS in metrics else tuple(sorted(metrics))
    return Wanted(told, interval_ms)


def subscription_id(wanted: Wanted, instance_id: bytes) -> int:
    """Return the id of what a client is to push, as a signed number of 32 bits.

    It is the same on every broker, so that a client can push to another one.

    Rule: P-153 (ClientMetricsManager.computeSubscriptionId).
    """
    checksum = crc32c(f"[{', '.join(wanted.metrics)}]{wanted.interval_ms}".encode())
    high, low = instance_id[:8], instance_id[8:]
    folded = int.from_bytes(high, "big") ^ int.from_bytes(low, "big")
    value = checksum ^ (folded >> 32) ^ (folded & _MASK)
    return value - 2 * _SIGN if value & _SIGN else value


class Configured:
    """The subscriptions of a cluster as its configs have them, compiled once for each change."""

    def __init__(
        self,
        changes: Callable[[], int],
        names: Callable[[], Iterable[str]],
        configs: Callable[[str], Mapping[str, str]],
    ) -> None:
        """Read nothing yet.

        Args:
            changes: counts the changes of the configs.
            names: of the subscriptions.
            configs: of a subscription by its name.
        """
        self._changes = changes
        self._names = names
        self._configs = configs
        self._read: tuple[int, tuple[Subscription, ...]] = (-1, ())

    @property
    def version(self) -> int:
        """The same number as long as the subscriptions are the same."""
        return self._changes()

    def all(self) -> tuple[Subscription, ...]:
        """Return the subscriptions that are in force."""
        version = self.version
        if self._read[0] != version:
            self._read = version, tuple(self._usable())
        return self._read[1]

    def _usable(self) -> Iterator[Subscription]:
        for name in self._names():
            try:
                yield check_subscription(name, self._configs(name))
            except BrokerError as error:  # a Kafka that had the directory before could use it
                logger.warning("the subscription %r to client metrics is not used: %s", name, error)


def _compiled(match: Iterable[str]) -> Mapping[str, Pattern]:
    """Return the patterns by attribute; the last one of an attribute counts."""
    compiled: dict[str, Pattern] = {}
    for text in match:
        parts = split_match(text)
        if len(parts) != 2 or parts[0].strip() not in ATTRIBUTES:
            raise _illegal(text)
        try:
            pattern = compile_pattern(parts[1].strip())
        except InvalidRegularExpression:
            raise _illegal(text) from None
        if pattern.programsize > _PROGRAM_SIZE_MAX:
            raise _illegal(text)
        compiled[parts[0].strip()] = pattern
    return compiled


def _illegal(text: str) -> InvalidConfig:
    return InvalidConfig(f"Illegal client matching pattern: {text}")


def _is_match(pattern: Pattern, value: str | None) -> bool:
    if value is None or len(value) > _VALUE_CHARACTERS_MAX:
        return False
    return pattern.fullmatch(value) is not None
