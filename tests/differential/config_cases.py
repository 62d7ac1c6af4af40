"""Every config of a broker, a topic and a group, set at each level to good and bad values.

A case is one change of one config, by IncrementalAlterConfigs. When it is taken, the config is read
back from where it was set and from the broker, and taken away again, so that each case begins as
the first one did.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from broker_lite.wire import messages

TOPIC, BROKER, GROUP = 2, 4, 32
SET, DELETE, APPEND, SUBTRACT = range(4)
DESCRIBE_VERSION: Final = 4
ALTER_VERSION: Final = 1

Ask = Callable[[str, int, Any], Any]
"""Sends a request by the name of its API, its version and its value."""
Row = dict[str, Any]

_BOOLEAN, _STRING, _INT, _SHORT, _LONG, _DOUBLE, _LIST, _CLASS, _PASSWORD = range(1, 10)
_NUMBERS: Final = ("7", "-5", "x", "", "9" * 20)
_VALUES: Final[Mapping[int, tuple[str, ...]]] = {
    _BOOLEAN: ("true", "false", "maybe", ""),
    _STRING: ("a", ""),
    _INT: _NUMBERS,
    _SHORT: _NUMBERS,
    _LONG: _NUMBERS,
    _DOUBLE: ("0.5", *_NUMBERS),
    _LIST: ("a", "a,b", "a,,b", ""),
    _CLASS: ("a.b.C",),
    _PASSWORD: ("secret",),
}
_DYNAMIC_SOURCES: Final = frozenset({1, 2, 3, 8})
LEVELS: Final = ((BROKER, "1"), (BROKER, ""))
EXTRA: Final[Mapping[str, tuple[str, ...]]] = {
    "cleanup.policy": ("compact,,delete", "compact,compact", "delete,compact"),
    "log.cleanup.policy": ("compact,,delete", "compact,compact"),
    "log.cleaner.threads": ("2", "0"),
    "max.connections.per.ip.overrides": ("127.0.0.1:x", "127.0.0.1:5"),
    "num.io.threads": ("3", "4", "16", "17"),
    "share.auto.offset.reset": ("earliest", "by_duration:PT1H", "by_duration:1H"),
}
"""More values of configs whose values are more than of a type."""
NAMED: Final = {
    "leader.replication.throttled.rate": ("1000", "-1", "x"),
    "follower.replication.throttled.rate": ("1000", "-1", "x"),
    "replica.alter.log.dirs.io.max.bytes.per.second": ("1000", "-1", "x"),
    "listener.name.plaintext.max.connections": ("1000", "-1", "x"),
    "listener.name.plaintext.max.connection.creation.rate": ("1000", "-1", "x"),
    "listener.name.plaintext.num.network.threads": ("3", "-1", "x"),
    "listener.name.plaintext.ssl.keystore.location": ("/nowhere", ""),
    "listener.name.plaintext.ssl.keystore.password": ("secret",),
    "listener.name.plaintext.ssl.keystore.type": ("JKS", "PEM"),
    "listener.name.plaintext.ssl.truststore.location": ("/nowhere",),
    "listener.name.plaintext.ssl.client.auth": ("none", "a"),
    "listener.name.plaintext.sasl.enabled.mechanisms": ("PLAIN",),
    "listener.name.plaintext.plain.sasl.jaas.config": ("a b c;",),
    "listener.name.plaintext.message.max.bytes": ("2000000",),
    "listener.name.other.ssl.keystore.type": ("JKS",),
    "listener.name.other.max.connections": ("1000",),
    "my.own.config": ("a", ""),
}
"""What no broker describes before it is set: quotas, configs of one listener, and what it is told
by people's own plugins."""


class ConfigCase(NamedTuple):
    """One change: SET, or APPEND and SUBTRACT of a list."""

    resource: tuple[int, str]
    name: str
    value: str
    operation: int = SET

    @property
    def title(self) -> str:
        sign = {SET: "=", APPEND: "+=", SUBTRACT: "-="}[self.operation]
        return f"{place(self.resource)} {self.name}{sign}{self.value!r}"


def place(resource: tuple[int, str]) -> str:
    """A resource in words."""
    kind = {TOPIC: "topic", BROKER: "broker", GROUP: "group"}[resource[0]]
    return f"{kind} {resource[1] or 'default'}"


def describe(ask: Ask, resource: tuple[int, str], *names: str) -> dict[str, list[Any]]:
    """Value, source and all else of the configs of a resource, of all of them without names."""
    types = messages.DescribeConfigsRequest
    wanted = types.DescribeConfigsResource(
        resource_type=resource[0],
        resource_name=resource[1],
        configuration_keys=list(names) or None,
    )
    answer = ask(
        "DescribeConfigs", DESCRIBE_VERSION, types(resources=[wanted], include_synonyms=True)
    )
    (result,) = answer.results
    return {
        each.name: [
            each.value,
            each.config_source,
            each.read_only,
            each.is_sensitive,
            each.config_type,
            [[one.name, one.value, one.source] for one in each.synonyms],
        ]
        for each in sorted(result.configs, key=lambda config: str(config.name))
    }


def cases(described: Mapping[str, Mapping[str, Sequence[Any]]]) -> Iterator[ConfigCase]:
    """All cases, from what a Kafka describes of a broker, a topic and a group, by place()."""
    for resource in (*LEVELS, (TOPIC, "t"), (GROUP, "g")):
        # a broker's default describes nothing of itself
        origin = (BROKER, "1") if resource[0] == BROKER else resource
        for name, (value, _, read_only, _, config_type, _) in described[place(origin)].items():
            yield from _cases_of(resource, name, value, config_type, read_only=read_only)
    for resource in LEVELS:
        for name, values in NAMED.items():
            for text in values:
                yield ConfigCase(resource, name, text)
        yield ConfigCase(resource, "message.max.bytes", "a", APPEND)
    for resource in ((TOPIC, "t"), (GROUP, "g")):
        for name in ("my.own.config", "num.io.threads"):
            yield ConfigCase(resource, name, "7")
    yield ConfigCase((TOPIC, "t"), "retention.ms", "a", APPEND)


def _cases_of(
    resource: tuple[int, str], name: str, value: str | None, config_type: int, *, read_only: bool
) -> Iterator[ConfigCase]:
    values = () if value is None else (value,)
    values += _VALUES[config_type][:1] if read_only else _VALUES[config_type]
    for text in dict.fromkeys((*values, *EXTRA.get(name, ()))):
        yield ConfigCase(resource, name, text)
    if config_type == _LIST:
        yield ConfigCase(resource, name, "a", APPEND)
        yield ConfigCase(resource, name, "a", SUBTRACT)


def run(ask: Ask, case: ConfigCase, pause: Callable[[], None], tries: int) -> Row:
    """What a broker makes of one case.

    Args:
        ask: sends a request.
        case: the change.
        pause: called before what was changed is looked at again.
        tries: how often it is looked at until the change is seen.
    """
    code, message = _alter(ask, case, case.operation)
    row: Row = {"code": code}
    if message:
        row["message"] = message
    if code:
        return row
    row.update(_read(ask, case, pause, tries, is_set=True))
    gone, message = _alter(ask, case, DELETE)
    if gone:
        row["not deleted"] = [gone, message]
    else:
        _read(ask, case, pause, tries, is_set=False)
    return row


def _read(
    ask: Ask, case: ConfigCase, pause: Callable[[], None], tries: int, *, is_set: bool
) -> Row:
    """Read a config back, once a change of it is seen, or not after all."""
    places = {"set": case.resource}
    if case.resource[0] == BROKER:
        places = {"broker": (BROKER, "1"), "default": (BROKER, "")}
    before: Row | None = None
    for _ in range(tries):
        row = {name: describe(ask, at, case.name).get(case.name) for name, at in places.items()}
        entry = row["set" if "set" in row else "broker"]
        dynamic = [one for one in (entry or [[]])[-1] if one[2] in _DYNAMIC_SOURCES]
        is_seen = any(name == case.name for name, _, _ in dynamic) == is_set
        # Kafka tells what is set a moment before that is in force
        if tries == 1 or (is_seen and row == before):
            break
        before = row if is_seen else None
        pause()
    return row


def _alter(ask: Ask, case: ConfigCase, operation: int) -> tuple[int, str | None]:
    types = messages.IncrementalAlterConfigsRequest
    change = types.AlterableConfig(
        name=case.name,
        config_operation=operation,
        value=None if operation == DELETE else case.value,
    )
    resource = types.AlterConfigsResource(
        resource_type=case.resource[0], resource_name=case.resource[1], configs=[change]
    )
    answer = ask("IncrementalAlterConfigs", ALTER_VERSION, types(resources=[resource]))
    (result,) = answer.responses
    return result.error_code, result.error_message
