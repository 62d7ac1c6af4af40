"""Which requests a fault, a wait or a look at the journal is about.

All selectors that are given have to hold. A selector that a request does not carry never holds: a
fault with a topic leaves heartbeats alone.
"""

import base64
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import cache
from operator import attrgetter
from typing import Any, Final, NamedTuple, TypeAlias
from uuid import UUID

import msgspec

from broker_lite.testbench.errors import ControlError
from broker_lite.testbench.facts import Facts, api_name
from broker_lite.testbench.glob import Test, glob
from broker_lite.testbench.hints import did_you_mean, shortened
from broker_lite.testbench.paths import field_of, parse_path, places
from broker_lite.wire import messages
from broker_lite.wire.schema import catalog_by_api

PATHS_MAX: Final = 100
"""So many fields may be compared or rewritten: each is looked for in each request."""
_SHOWN: Final = 4
_DIGITS_MAX: Final = 5
_UUID_BYTES: Final = 16
# what a request may name several of, so that a fault can concern one of them
_PARTS: Final = frozenset(("topic", "topic_id", "partition", "resource"))


class Selectors(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """Chooses requests.

    Attributes:
        keys: APIs by name ("Produce") or number.
        versions: the first and the last version.
        nodes: brokers by id.
        listener: the listener's name.
        client_id: of the header; * and ? stand for any characters.
        client_address: the client's address without its port, with * and ?.
        software: the client's NAME VERSION as it told it (KIP-511), with * and ?.
        connection: as the journal names it, c1 for the first.
        topic: a topic's name, with * and ?.
        topic_id: a topic's id, as Kafka prints it.
        partitions: numbers; with a topic, of that topic.
        group: a group id, with * and ?.
        txn_id: a transactional id, with * and ?.
        resource: the name of a resource of configs or ACLs, of a user, quota entity, log directory,
            feature or member that leaves; with * and ?.
        where: fields of the decoded request with their values; `topics[].name` means any element.
    """

    keys: list[str | int] | None = None
    versions: tuple[int, int] | None = None
    nodes: list[int] | None = None
    listener: str | None = None
    client_id: str | None = None
    client_address: str | None = None
    software: str | None = None
    connection: str | None = None
    topic: str | None = None
    topic_id: str | None = None
    partitions: list[int] | None = None
    group: str | None = None
    txn_id: str | None = None
    resource: str | None = None
    where: dict[str, Any] | None = None


class Mismatch(NamedTuple):
    """One selector that a request does not meet.

    Attributes:
        selector: its name.
        wanted: what it asks for.
        found: what the request has; empty if the request carries nothing of the kind.
    """

    selector: str
    wanted: object
    found: tuple[object, ...]

    def in_words(self) -> str:
        """Tell the mismatch: topic 'order' is not 'orders'."""
        name = {"keys": "API", "nodes": "node", "partitions": "partition"}.get(
            self.selector, self.selector
        )
        if not self.found:
            return f"it names no {name}"
        shown = ", ".join(_shown(value) for value in self.found[:_SHOWN])
        more = ", ..." if len(self.found) > _SHOWN else ""
        return f"{name} {shown}{more} is not {_shown(self.wanted)}"


class Named(NamedTuple):
    """One thing that a request or an answer names; None for what it has no word on."""

    topic: str | None = None
    topic_id: bytes | None = None
    partition: int | None = None
    group: str | None = None
    txn_id: str | None = None
    resource: str | None = None


Check: TypeAlias = Callable[[Facts], Mismatch | None]


class Matcher:
    """Selectors made ready to be compared with requests.

    Attributes:
        keys: the numbers of the APIs; None for all.
    """

    def __init__(self, selectors: Selectors, at: str = "") -> None:
        """Make them ready.

        Args:
            selectors: what to compare with.
            at: the place of the selectors in what a caller sent, as "rules[0]".

        Raises:
            ControlError: a selector names what does not exist.
        """
        place = f"{at}." if at else ""
        _check(selectors, place)
        self.keys = api_keys(selectors.keys, f"{place}keys")
        self._tests: dict[str, Test] = {
            name: glob(text, f"{place}{name}")
            for name in ("topic", "group", "txn_id", "resource")
            if (text := getattr(selectors, name)) is not None
        }
        if selectors.topic_id is not None:
            self._tests["topic_id"] = topic_id_of(selectors.topic_id, f"{place}topic_id").__eq__
        if selectors.partitions is not None:
            self._tests["partition"] = frozenset(selectors.partitions).__contains__
        checks = _of_header(selectors, self.keys, place) + self._of_entities(selectors)
        for path, value in (selectors.where or {}).items():
            checks.append(_where(path, value, self.keys, f"{place}where"))
        self._checks = checks

    def matches(self, facts: Facts) -> bool:
        """True if a request meets all selectors."""
        return all(check(facts) is None for check in self._checks)

    def mismatches(self, facts: Facts) -> tuple[Mismatch, ...]:
        """Return each selector that a request does not meet."""
        return tuple(miss for check in self._checks if (miss := check(facts)) is not None)

    def chooses(self, named: Named) -> bool:
        """True if one thing that a matching request or its answer names is meant."""
        return all(
            value is None or test(value)
            for name, test in self._tests.items()
            for value in [getattr(named, name)]
        )

    @property
    def names_topics(self) -> bool:
        """True if only some topics, partitions or resources of a request are meant."""
        return not self._tests.keys().isdisjoint(_PARTS)

    @property
    def names_partitions(self) -> bool:
        """True if only some partitions are meant."""
        return "partition" in self._tests

    def _of_entities(self, selectors: Selectors) -> list[Check]:
        found: list[Check] = []
        for name, attribute in (
            ("topic", "topics"),
            ("topic_id", "topic_ids"),
            ("group", "groups"),
            ("txn_id", "transactional_ids"),
            ("resource", "resources"),
        ):
            if name in self._tests:
                wanted = getattr(selectors, name)
                found.append(_any_of(name, attribute, wanted, self._tests[name]))
        if "partition" in self._tests:
            found.append(self._of_partitions(selectors.partitions))
        return found

    def _of_partitions(self, wanted: object) -> Check:
        is_wanted = self._tests["partition"]
        is_topic = self._tests.get("topic")
        is_id = self._tests.get("topic_id")

        def is_meant(facts: Facts, topic: str | bytes) -> bool:
            if isinstance(topic, str):
                is_named = is_topic is None or is_topic(topic)
                return is_named and (is_id is None or is_id(facts.topic_id(topic)))
            is_named = is_topic is None or is_topic(facts.topic_name(topic))
            return is_named and (is_id is None or is_id(topic))

        def check(facts: Facts) -> Mismatch | None:
            found: set[int] = set()
            for topic, numbers in facts.entities.partitions.items():
                if is_meant(facts, topic):
                    found |= numbers
            if any(map(is_wanted, found)):
                return None
            return Mismatch("partitions", wanted, tuple(sorted(found)))

        return check


def _check(selectors: Selectors, place: str) -> None:
    """Check what can never be met.

    Raises:
        ControlError: it can not.
    """
    for name in ("keys", "nodes", "partitions", "where"):
        if getattr(selectors, name) in ([], {}):
            raise ControlError(400, "it is empty, so no request meets it", f"{place}{name}")
    if len(selectors.where or ()) > PATHS_MAX:
        raise ControlError(400, f"it names more than {PATHS_MAX} fields", f"{place}where")
    first, last = selectors.versions or (0, 0)
    if first > last:
        raise ControlError(400, f"{first} is above {last}", f"{place}versions")


def api_keys(keys: Iterable[str | int] | None, at: str) -> frozenset[int] | None:
    """Return the numbers of APIs; None for None.

    Raises:
        ControlError: there is no such API.
    """
    if keys is None:
        return None
    found = set()
    for position, key in enumerate(keys):
        number = _number(key)
        if number not in _requests():
            like = did_you_mean(str(key), [api_name(known) for known in _requests()])
            text = f"there is no API {shortened(key)!r}{like}"
            raise ControlError(400, text, f"{at}[{position}]")
        found.add(number)
    return frozenset(found)


def _number(key: str | int) -> int | None:
    """Return the number of an API from its name, in any case, or from the number itself."""
    if isinstance(key, str) and not key.isdecimal():
        return _by_name().get(key.lower().removesuffix("request"))
    return int(key) if len(str(key)) <= _DIGITS_MAX else None


@cache
def _by_name() -> Mapping[str, int]:
    return {name.removesuffix("Request").lower(): key for key, name in _requests().items()}


def topic_id_of(text: str, at: str) -> bytes:
    """Return a topic id from the text that Kafka prints for it, or from a UUID in hexadecimal.

    Raises:
        ControlError: the text is no topic id.
    """
    with suppress(ValueError):
        return UUID(text).bytes
    try:
        found = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except ValueError:
        found = b""
    if len(found) != _UUID_BYTES:
        raise ControlError(400, f"{text!r} is no topic id as Kafka prints it", at)
    return found


def topic_id_text(topic_id: bytes) -> str:
    """Return a topic id as Kafka prints it."""
    return base64.urlsafe_b64encode(topic_id).decode().rstrip("=")


def _requests() -> dict[int, str]:
    return dict(catalog_by_api("protocol", "request"))


def _of_header(selectors: Selectors, keys: frozenset[int] | None, place: str) -> list[Check]:
    """Return the checks that need nothing decoded, the cheapest first."""
    found: list[Check] = []
    if keys is not None:
        names = tuple(api_name(key) for key in sorted(keys))
        found.append(_one("keys", names, lambda facts: facts.request.api_key, keys.__contains__))
    if selectors.nodes is not None:
        nodes = frozenset(selectors.nodes)
        found.append(
            _one("nodes", selectors.nodes, lambda facts: facts.node_id, nodes.__contains__)
        )
    if selectors.versions is not None:
        first, last = selectors.versions
        versions = range(first, last + 1)
        wanted = f"{first} to {last}"
        found.append(_one("version", wanted, lambda facts: facts.version, versions.__contains__))
    for name in ("listener", "connection", "client_id", "client_address", "software"):
        text = getattr(selectors, name)
        if text is not None:
            test = (
                text.__eq__ if name in ("listener", "connection") else glob(text, f"{place}{name}")
            )
            found.append(_one(name, text, attrgetter(name), test))
    return found


def _one(name: str, wanted: object, read: Callable[[Facts], object], test: Test) -> Check:
    """Return a check of something that each request has once; an empty text is as good as none."""

    def check(facts: Facts) -> Mismatch | None:
        value = read(facts)
        if test(value):
            return None
        shown = api_name(facts.request.api_key) if name == "keys" else value
        return Mismatch(name, wanted, () if shown == "" else (shown,))

    return check


def _any_of(name: str, attribute: str, wanted: object, test: Test) -> Check:
    """Return a check of something that a request may name several times."""

    def check(facts: Facts) -> Mismatch | None:
        values = getattr(facts.entities, attribute)
        if any(map(test, values)):
            return None
        return Mismatch(name, wanted, tuple(sorted(values)[: _SHOWN + 1]))

    return check


def _where(path: str, wanted: object, keys: frozenset[int] | None, at: str) -> Check:
    """Return a check of a field of the decoded request.

    Raises:
        ControlError: the path is none, or no request of these APIs has such a field.
    """
    try:
        steps = parse_path(path)
    except ValueError as error:
        raise ControlError(400, str(error), at) from None
    problem = ""
    for key in keys if keys is not None else _requests():
        kind, _ = messages.by_api(key)
        found = field_of(steps, kind.name, kind.structs)
        if not isinstance(found, str):
            break
        problem = found
    else:
        told = "no request has such a field" if keys is None else problem
        raise ControlError(400, told, f"{at}[{path!r}]")

    def check(facts: Facts) -> Mismatch | None:
        body = facts.body
        values = [] if body is None else [place.get() for place in places(body, steps)]
        if any(_is(value, wanted) for value in values):
            return None
        return Mismatch(path, wanted, tuple(values[: _SHOWN + 1]))

    return check


def _is(value: object, wanted: object) -> bool:
    """Compare a decoded value with one of JSON: a topic id or other bytes with their text."""
    if isinstance(value, bytes | memoryview):
        data = bytes(value)
        texts = [topic_id_text(data), data.decode("utf-8", "replace")]
        return wanted in (texts if len(data) == _UUID_BYTES else texts[1:])
    if isinstance(value, bool) or isinstance(wanted, bool):
        return value is wanted
    return value == wanted


def _shown(value: object) -> str:
    """Return a value as a person reads it."""
    if isinstance(value, bytes | memoryview):
        data = bytes(value)
        return topic_id_text(data) if len(data) == _UUID_BYTES else f"{len(data)} bytes"
    if isinstance(value, tuple | list):
        return " or ".join(str(each) for each in value)
    return repr(value)
