"""The levels of the broker's loggers, as configs of a resource (BROKER_LOGGER, KIP-412).

A logger is one that the lines of the log name. "root" is the level of all that have none of their
own. The levels hold until the process ends, as Kafka's do.

A difference to Kafka: the loggers are those of this broker and not of Kafka's Java classes, and all
brokers of a cluster share them. With several processes they are those of the first one.

Rule: P-134.
"""

import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final

from broker_lite.control.cluster.config_rules import (
    ConfigOperation,
    OperationType,
    Values,
    check_keys,
    node_id_of,
)
from broker_lite.errors import BrokerError, InvalidConfig, InvalidRequest, UnknownServerError
from broker_lite.settings.configs.describe import ConfigEntry
from broker_lite.settings.setting import ConfigSource, ConfigType

BROKER_LOGGER_RESOURCE: Final = 8
ROOT: Final = "root"

_PACKAGE: Final = "broker_lite"
_TRACE: Final = 5
_LEVELS: Final[Mapping[str, int]] = {
    "DEBUG": logging.DEBUG,
    "ERROR": logging.ERROR,
    "FATAL": logging.CRITICAL,
    "INFO": logging.INFO,
    "TRACE": _TRACE,
    "WARN": logging.WARNING,
}
_STRONGEST_FIRST: Final = tuple(sorted(_LEVELS, key=lambda name: -_LEVELS[name]))
_CHANGE_LISTS: Final = (OperationType.APPEND, OperationType.SUBTRACT)


def describe(node_id: int, name: str, keys: Collection[str] | None) -> Sequence[ConfigEntry]:
    """Return the level of each logger.

    Args:
        node_id: the broker that is asked.
        name: of the resource.
        keys: the loggers that are wanted; none, or an empty list, for all. One that does not exist
            is left out.

    Raises:
        InvalidRequest: the name is not the id of the broker.
    """
    if not name:
        raise InvalidRequest("Broker id must not be empty")
    if node_id_of(name, "Broker") != node_id:
        raise InvalidRequest(f"Unexpected broker id, expected {node_id} but received {name}")
    wanted = set(keys) if keys else None
    return [
        ConfigEntry(
            name=logger,
            value=_level_of(logger),
            source=ConfigSource.DYNAMIC_BROKER_LOGGER,
            read_only=False,
            is_sensitive=False,
            synonyms=(),
            config_type=ConfigType.UNKNOWN,
            documentation="",
        )
        for logger in _loggers()
        if wanted is None or logger in wanted
    ]


def plan(
    node_id: int, name: str, operations: Sequence[ConfigOperation], denied: BrokerError | None
) -> Values:
    """Check operations on levels, and return the new ones; None where a logger has none any more.

    Args:
        node_id: the broker that is asked.
        name: of the resource.
        operations: in the order of the request.
        denied: that the client has no right to this.

    Raises:
        InvalidRequest, InvalidConfig, UnknownServerError: see the rule.
        BrokerError: `denied`.
    """
    check_keys(operations)
    if denied is not None:
        raise denied
    if node_id_of(name, "Node") != node_id:
        raise InvalidRequest(f"Unexpected node id. Expected {node_id}, but received {name}")
    loggers = frozenset(_loggers())
    return {operation.name: _level_after(operation, loggers) for operation in operations}


def put(levels: Iterable[Values]) -> None:
    """Put planned levels into force."""
    for some in levels:
        for name, level in some.items():
            logging.getLogger(_name_of(name)).setLevel(
                logging.NOTSET if level is None else _LEVELS[level]
            )


def _level_after(operation: ConfigOperation, loggers: Collection[str]) -> str | None:
    name, code, level = operation
    if code in _CHANGE_LISTS:
        kind = OperationType(code).name
        raise InvalidRequest(f"{kind} operation is not allowed for the BROKER_LOGGER resource")
    if code not in (OperationType.SET, OperationType.DELETE):
        raise UnknownServerError
    if name not in loggers:
        raise InvalidConfig(f"Logger {name} does not exist!")
    if code == OperationType.DELETE:
        if name == ROOT:
            raise InvalidRequest("Removing the log level of the root logger is not allowed")
        return None
    if level not in _LEVELS:
        raise InvalidConfig(
            f"Cannot set the log level of {name} to {level} as it is not a supported log level. "
            f"Valid log levels are {', '.join(_LEVELS)}"
        )
    return level


def _loggers() -> list[str]:
    known = logging.root.manager.loggerDict.copy()
    return [
        ROOT,
        *sorted(
            name
            for name, logger in known.items()
            if name.startswith(f"{_PACKAGE}.") and isinstance(logger, logging.Logger)
        ),
    ]


def _name_of(logger: str) -> str:
    return _PACKAGE if logger == ROOT else logger


def _level_of(logger: str) -> str:
    level = logging.getLogger(_name_of(logger)).getEffectiveLevel()
    return next((name for name in _STRONGEST_FIRST if level >= _LEVELS[name]), "TRACE")
