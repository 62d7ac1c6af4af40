"""Checks new values of settings as the parts of a running Kafka broker do, with Kafka's texts.

Kafka asks each part that can be reconfigured. Here are only the checks of parts that can refuse.

A difference to Kafka: mechanisms and users of a SASL listener are read at the start only, so a
change of its `sasl.*` configs is refused with INVALID_REQUEST. Key stores are not checked here.

Source: DynamicThreadPool, LogCleaner, DynamicMetricsReporters, SocketServer of Kafka.
"""

from collections.abc import Callable, Mapping
from typing import Final

from broker_lite.settings.declared.declarations import find_broker_setting, listener_prefix
from broker_lite.settings.declared.security_settings import SASL_SETTINGS
from broker_lite.settings.listeners import WITH_SASL, parse_listeners
from broker_lite.settings.setting import InvalidValue
from broker_lite.settings.settings import Settings

_THREADS: Final = frozenset(
    {
        "background.threads",
        "num.io.threads",
        "num.network.threads",
        "num.recovery.threads.per.data.dir",
        "num.replica.fetchers",
        "remote.log.manager.copier.thread.pool.size",
        "remote.log.manager.expiration.thread.pool.size",
        "remote.log.manager.follower.thread.pool.size",
        "remote.log.reader.threads",
    }
)
_CLEANER_THREADS: Final = "log.cleaner.threads"
_REPORTERS: Final = "metric.reporters"
_OVERRIDES: Final = "max.connections.per.ip.overrides"
_NETWORK_THREADS: Final = "num.network.threads"
_OF_ACCEPTORS: Final = frozenset(
    {"max.connections", "max.connection.creation.rate", _NETWORK_THREADS}
)
_JAAS: Final = "sasl.jaas.config"


def check_reconfiguration(before: Settings, after: Settings) -> None:
    """Check a change of the settings of a running broker.

    Raises:
        InvalidValue: a part of the broker would refuse its new value.
    """
    for name in _changed(before, after):
        check = _CHECKS.get(name)
        if name in _THREADS:
            _check_threads(name, before, after)
        elif check is not None:
            check(before, after)
    _check_listeners(before, after)
    _check_fixed_of_listeners(before, after)


def _changed(before: Settings, after: Settings) -> list[str]:
    names = {**before.dynamic_default, **before.dynamic, **after.dynamic_default, **after.dynamic}
    known = (name for name in names if name in _THREADS or name in _CHECKS)
    return [name for name in known if before.value(name) != after.value(name)]


def _check_threads(name: str, before: Settings, after: Settings) -> None:
    old, new = _numbers(name, before, after)
    what = f"Dynamic thread count update validation failed for {name}={new}, value should"
    if new > 2 * old:
        raise refused(f"{what} not be greater than double the current value {old}")
    if new < old // 2:
        raise refused(f"{what} be at least half the current value {old}")


def _check_cleaner(before: Settings, after: Settings) -> None:
    old, new = _numbers(_CLEANER_THREADS, before, after)
    what = "Log cleaner threads cannot be"
    if new > 2 * old:
        raise refused(f"{what} increased to more than double the current value {old}")
    if new < old // 2:
        raise refused(f"{what} reduced to less than half the current value {old}")


def _check_reporters(_before: Settings, after: Settings) -> None:
    """Accept only the class that Kafka itself has; others are unknown, because there is no Java."""
    known = _REPORTER_CLASSES
    reporters = after.value(_REPORTERS)
    assert isinstance(reporters, tuple)
    if not known.issuperset(reporters):
        raise refused(
            f"Validation of dynamic config update of Set({_REPORTERS}) failed with class"
            " class kafka.server.DynamicMetricsReporters"
        )


def _check_overrides(_before: Settings, after: Settings) -> None:
    """See: P-12; the reasons are the messages of Java's string functions."""
    overrides = str(after.value(_OVERRIDES))
    for pair in filter(None, (item.strip() for item in overrides.split(","))):
        _, colon, count = pair.rpartition(":")
        if not colon:
            reason = f"begin 0, end -1, length {len(pair)}"
            raise InvalidValue(f"Error parsing configuration property '{_OVERRIDES}': {reason}")
        if not (count.strip().isascii() and count.strip().isdigit()):
            raise InvalidValue(f'For input string: "{count.strip()}"')


_REPORTER_CLASSES: Final = frozenset({"org.apache.kafka.common.metrics.JmxReporter"})
_CHECKS: Final[Mapping[str, Callable[[Settings, Settings], None]]] = {
    _CLEANER_THREADS: _check_cleaner,
    _REPORTERS: _check_reporters,
    _OVERRIDES: _check_overrides,
}


def _check_listeners(before: Settings, after: Settings) -> None:
    """Refuse what a listener would not use before the next start, and might then fail by."""
    for listener in parse_listeners(before):
        if listener.security_protocol not in WITH_SASL:
            continue
        for setting in SASL_SETTINGS:
            name = setting.name
            old = before.value_for_listener(listener.name, name)
            if old != after.value_for_listener(listener.name, name):
                raise _refused_until_start(name, listener.name)
        own = listener_prefix(listener.name)
        for name in {**before.dynamic, **after.dynamic}:
            is_of_users = name.startswith(own) and name.endswith(_JAAS)
            if is_of_users and before.dynamic.get(name) != after.dynamic.get(name):
                raise _refused_until_start(_JAAS, listener.name)


def _check_fixed_of_listeners(before: Settings, after: Settings) -> None:
    """Check that no listener has another fixed config than at the start of the broker.

    Kafka takes such a config, which has an effect after the next start only. It looks at it when
    one of the configs is changed that all listeners share.
    """
    if not any(map(_is_shared, _differing(before, after))):
        return
    for listener in parse_listeners(before):
        prefix = listener_prefix(listener.name)
        for name, text in after.dynamic.items():
            given = after.given.get(name)
            is_fixed = name.startswith(prefix) and not _can_change(name)
            if is_fixed and (given is None or given.text != text):
                raise refused(
                    "Configs cannot be updated dynamically for existing listener "
                    f"ListenerName({listener.name}), restart broker or create a new listener for"
                    " update"
                )


def _differing(before: Settings, after: Settings) -> list[str]:
    """Return the names whose values change, those of listeners with their prefixes."""
    names = {**before.dynamic_default, **before.dynamic, **after.dynamic_default, **after.dynamic}
    return [name for name in names if before.texts_of(name)[:1] != after.texts_of(name)[:1]]


def _is_shared(name: str) -> bool:
    return name == _NETWORK_THREADS or name.startswith(("ssl.", "sasl."))


def _can_change(name: str) -> bool:
    setting = find_broker_setting(name)
    return setting is not None and (setting.per_listener or setting.name in _OF_ACCEPTORS)


def _refused_until_start(name: str, listener: str) -> InvalidValue:
    return InvalidValue(f"{name} of listener {listener} is read at the start of the broker only")


def _numbers(name: str, before: Settings, after: Settings) -> tuple[int, int]:
    old, new = before.value(name), after.value(name)
    assert isinstance(old, int)
    assert isinstance(new, int)
    return old, new


def refused(reason: str) -> InvalidValue:
    """Return the error of a part of the broker that refuses its new values, in Kafka's words."""
    shown = f"org.apache.kafka.common.config.ConfigException: {reason}"
    return InvalidValue(f"Invalid value {shown} for configuration Invalid dynamic configuration")
