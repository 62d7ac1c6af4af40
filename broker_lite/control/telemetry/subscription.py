"""Subscriptions to client metrics: which clients push which metrics, and how often.

A difference to Kafka: the regular expressions of `match` are those of RE2, without backreferences,
lookaround and possessive quantifiers, so that no client id makes a match take long. One that RE2
refuses, or compiles to more than 2,000 instructions, is an illegal pattern; a value of more than
1,000 characters is matched by none.
"""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
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
    """The subscriptions of a cluster by its configs, each compiled once for each change."""

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
        self._compiled: dict[str, tuple[Mapping[str, str], Subscription | None]] = {}

    @property
    def version(self) -> int:
        """The same number as long as the subscriptions are the same."""
        return self._changes()

    def names(self) -> Sequence[str]:
        """Return the names of the subscriptions that are in force."""
        names = list(self._names())
        for gone in self._compiled.keys() - names:
            del self._compiled[gone]
        return names

    def get(self, name: str) -> Subscription | None:
        """Return a subscription; None if there is none, or it cannot be used."""
        configs = dict(self._configs(name))
        known = self._compiled.get(name)
        if known is None or known[0] != configs:
            known = configs, self._usable(name, configs)
            self._compiled[name] = known
        return known[1]

    @staticmethod
    def _usable(name: str, configs: Mapping[str, str]) -> Subscription | None:
        if not configs:  # it was removed
            return None
        try:
            return check_subscription(name, configs)
        except BrokerError as error:  # a Kafka that had the directory before could use it
            logger.warning("the subscription %r to client metrics is not used: %s", name, error)
            return None


class Search:
    """Finds out what one client is to push by all subscriptions, step by step as it is iterated.

    One subscription after the other is compiled, if that is not done yet, and matched. There may be
    1,000, and either can take some milliseconds.

    Attributes:
        version: of the subscriptions when the search began.

    Rule: P-153 (ClientMetricsManager.createClientInstance).
    """

    def __init__(self, configured: Configured, attributes: Mapping[str, str]) -> None:
        """Find nothing yet.

        Args:
            configured: the subscriptions.
            attributes: of the client.
        """
        self.version = configured.version
        self._configured = configured
        self._attributes = attributes
        self._metrics: set[str] = set()
        self._interval_ms = DEFAULT_INTERVAL_MS

    def __iter__(self) -> Iterator[None]:
        """Look at one subscription after the other."""
        for name in self._configured.names():
            each = self._configured.get(name)
            if each is not None and each.is_for(self._attributes):
                self._metrics.update(each.metrics)
                self._interval_ms = min(self._interval_ms, each.interval_ms)
            yield

    @property
    def wanted(self) -> Wanted:
        """What the client is to push, once all are looked at."""
        names = (ALL_METRICS,) if ALL_METRICS in self._metrics else tuple(sorted(self._metrics))
        return Wanted(names, self._interval_ms)


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
