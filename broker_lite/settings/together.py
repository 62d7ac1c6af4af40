"""Checks that need the values of several settings of a broker; the texts are Kafka's.

Source: KafkaConfig.validateValues.
"""

from collections.abc import Mapping
from typing import Final

from broker_lite.settings.values import AUTO, InvalidValue, Value

STANDARD_AUTHORIZER: Final = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
"""The one authorizer that there is, as in Kafka 4."""

_DEDUPE_BYTES_PER_THREAD: Final = 1024 * 1024
_QUEUED_BYTES: Final = "queued.max.request.bytes"
_REQUEST_BYTES: Final = "socket.request.max.bytes"


def check_together(values: Mapping[str, Value]) -> None:
    """Check the values of all settings of a broker against each other.

    Raises:
        InvalidValue: a check failed; the error is about the first one.
    """
    for name, low in (("log.roll.ms", 1), ("log.roll.jitter.ms", 0)):
        value = values[name]
        _require(
            value is None or _number(value) >= low, f"{name} must be greater than or equal to {low}"
        )
    _require(
        values["log.retention.ms"] != 0,
        "log.retention.ms must be unlimited (-1) or, greater than or equal to 1",
    )
    threads = _number(values["log.cleaner.threads"])
    _require(threads >= 1, "log.cleaner.threads must be greater than or equal to 1")
    _require(
        _number(values["log.cleaner.dedupe.buffer.size"]) // threads > _DEDUPE_BYTES_PER_THREAD,
        "log.cleaner.dedupe.buffer.size must be at least 1MB per cleaner thread.",
    )
    queued_bytes = _number(values[_QUEUED_BYTES])
    _require(
        queued_bytes <= 0 or queued_bytes >= _number(values[_REQUEST_BYTES]),
        f"{_QUEUED_BYTES} must be larger or equal to {_REQUEST_BYTES}",
    )
    _check_brokers(values)
    if values["authorizer.class.name"] not in ("", STANDARD_AUTHORIZER):
        raise InvalidValue(
            f"authorizer.class.name: there is no class {values['authorizer.class.name']}; write "
            f"{STANDARD_AUTHORIZER}, or leave it out to let every client do everything"
        )
    cordoned = values["cordoned.log.dirs"]
    assert isinstance(cordoned, tuple)
    missing = [each for each in cordoned if each not in _log_dirs(values)]
    _require(
        not missing,
        "All entries in cordoned.log.dirs must be present in log.dirs or log.dir. Missing entries :"
        f" {', '.join(missing)}",
    )


def _check_brokers(values: Mapping[str, Value]) -> None:
    """Check the number of brokers, and that there is one release for all or one for each."""
    brokers, processes = _number(values["broker.lite.brokers"]), values["broker.lite.processes"]
    if brokers > 1 and processes != "1":
        raise InvalidValue(
            "broker.lite.processes: with several processes each has one broker; leave out "
            "broker.lite.brokers, or broker.lite.processes"
        )
    if processes != "1" and values["broker.lite.seed.file"]:
        raise InvalidValue(
            "broker.lite.seed.file: the records of a file are written in one process; leave out "
            "broker.lite.processes, or write them with a client"
        )
    if processes != AUTO:
        brokers *= int(str(processes))
    count = str(values["emulate"]).count(",") + 1
    if count not in (1, brokers):
        raise InvalidValue(
            f"emulate: there are {count} releases and {brokers} broker{'s' * (brokers > 1)}; give "
            "one release for all brokers, or one for each"
        )


def _require(is_so: bool, what: str) -> None:
    if not is_so:
        raise InvalidValue(f"requirement failed: {what}")


def _number(value: Value) -> int:
    assert isinstance(value, int)
    return value


def _log_dirs(values: Mapping[str, Value]) -> tuple[str, ...]:
    dirs = values["log.dirs"]
    if dirs is None:
        dirs = values["log.dir"]
    if isinstance(dirs, tuple):
        return dirs
    return () if dirs is None else (str(dirs),)
