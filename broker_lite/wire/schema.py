"""Kafka's message schemas as values: one MessageSchema per message, with fields of all versions.

The data files hold one JSON object per line. A message is parsed when it is first used; the start
only looks for the names in the lines. Versions that Kafka 4 dropped take their layout from the
3.9.2 file, all others from the 4.4.0 file.

Rule: P-170, P-171.
"""

import json
import pkgutil
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

REMOVED: Final = "protocol-removed-since-3.9.2"
FILES: Final = (
    "protocol",
    "metadata",
    "group-coordinator",
    "transaction-coordinator",
    "share-coordinator",
    "raft",
)
FOREVER: Final = 0x7FFF

_HEAD: Final = re.compile(r'{(?:"apiKey":(-?\d+),)?"type":"([a-z-]+)",.*?"name":"(\w+)"')
_WORDS: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


@dataclass(frozen=True, slots=True, kw_only=True)
class Versions:
    """A range of versions, both ends included; if first > last, the range is empty."""

    first: int
    last: int

    @classmethod
    def parse(cls, text: str | None) -> "Versions":
        """Parse "3", "3-5", "3+" or "none"; None gives the empty range."""
        if text is None or text == "none":
            return cls(first=0, last=-1)
        if text.endswith("+"):
            return cls(first=int(text[:-1]), last=FOREVER)
        first, _, last = text.partition("-")
        return cls(first=int(first), last=int(last or first))

    def __contains__(self, version: int) -> bool:
        return self.first <= version <= self.last

    def __bool__(self) -> bool:
        return self.first <= self.last


Default = bool | int | float | str | bytes | tuple[()] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One field of a struct, over all versions."""

    name: str  # as Kafka spells it
    attribute: str  # snake case
    element_type: str  # without the [] of an array
    is_array: bool
    versions: Versions
    nullable: Versions
    tagged: Versions
    tag: int
    flexible: Versions | None  # None: the same as the message
    ignorable: bool
    default: Default  # () for a struct or array that is not None
    entity: str | None  # what the value names: topicName, groupId, transactionalId, brokerId, ...

    @property
    def is_struct(self) -> bool:
        """True if the element type is a struct (types of the protocol are lower case)."""
        return self.element_type[0].isupper()


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageSchema:
    """One message: its structs by name, the root struct under the message's own name."""

    name: str
    api_key: int | None
    type: str
    valid: Versions
    flexible: Versions
    listeners: tuple[str, ...]  # which nodes answer a request: "broker", "controller"
    structs: Mapping[str, tuple[Field, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageEntry:
    """A message that is not parsed yet, and the file and line where it is."""

    name: str
    api_key: int | None
    type: str  # request, response, header, metadata, coordinator-key, coordinator-value, data
    file: str
    line: str


def snake_case(name: str) -> str:
    """Turn ThrottleTimeMs into throttle_time_ms."""
    return _WORDS.sub("_", name).lower()


@cache
def catalog() -> Mapping[str, MessageEntry]:
    """Return every message by name; it reads the files and parses nothing."""
    return {entry.name: entry for file in FILES for entry in _entries(file)}


@cache
def removed_catalog() -> Mapping[str, MessageEntry]:
    """Return the messages of 3.9.2 that have versions which Kafka 4 dropped."""
    return {entry.name: entry for entry in _entries(REMOVED)}


@cache
def catalog_by_api(file: str, message_type: str) -> Mapping[int, str]:
    """Return the names of all messages of one file and type by key (the files share numbers)."""
    return {
        entry.api_key: entry.name
        for entry in catalog().values()
        if (entry.file, entry.type) == (file, message_type) and entry.api_key is not None
    }


def _entries(file: str) -> Iterator[MessageEntry]:
    data = pkgutil.get_data("broker_lite.wire", f"data/{file}.json")
    assert data is not None, file
    for line in data.decode("ascii").splitlines():
        if match := _HEAD.match(line):
            api_key, message_type, name = match.groups()
            yield MessageEntry(
                name=name,
                api_key=None if api_key is None else int(api_key),
                type=message_type,
                file=file,
                line=line,
            )


def parse(entry: MessageEntry) -> MessageSchema:
    """Parse the JSON of one message."""
    document = json.loads(entry.line.rstrip(","))
    structs: dict[str, tuple[Field, ...]] = {}
    _parse_struct(document["name"], document["fields"], structs)
    for common in document.get("commonStructs", ()):
        _parse_struct(common["name"], common["fields"], structs)
    return MessageSchema(
        name=entry.name,
        api_key=entry.api_key,
        type=entry.type,
        valid=Versions.parse(document["validVersions"]),
        flexible=Versions.parse(document.get("flexibleVersions")),
        listeners=tuple(document.get("listeners", ())),
        structs=structs,
    )


def _parse_struct(
    name: str, fields: list[dict[str, Any]], structs: dict[str, tuple[Field, ...]]
) -> None:
    structs[name] = tuple(_parse_field(field) for field in fields)
    for field in fields:
        if "fields" in field:
            _parse_struct(field["type"].removeprefix("[]"), field["fields"], structs)


def _parse_field(field: Mapping[str, Any]) -> Field:
    tagged = Versions.parse(field.get("taggedVersions"))
    element_type = field["type"].removeprefix("[]")
    is_array = element_type != field["type"]
    return Field(
        name=field["name"],
        attribute=snake_case(field["name"]),
        element_type=element_type,
        is_array=is_array,
        # As in Kafka's generator, a field that only has taggedVersions exists in those versions.
        versions=Versions.parse(field["versions"]) if "versions" in field else tagged,
        nullable=Versions.parse(field.get("nullableVersions")),
        tagged=tagged,
        tag=field.get("tag", -1),
        flexible=Versions.parse(field["flexibleVersions"]) if "flexibleVersions" in field else None,
        ignorable=field.get("ignorable", False),
        default=_parse_default(field, element_type, is_array),
        entity=field.get("entityType"),
    )


def _parse_default(field: Mapping[str, Any], element_type: str, is_array: bool) -> Default:
    """Return the default of a field; the files write it as text, as a number or as a boolean.

    The *text* "null" is null. A JSON null means that there is no default, as in Kafka's generator:
    such a field is an empty array or struct by default.
    """
    if field.get("default") == "null":
        return None
    if is_array or element_type[0].isupper():
        return ()
    default = field.get("default")
    text = "" if default is None else str(default)
    match element_type:
        case "string":
            return text
        case "bytes" | "records":
            return b""
        case "uuid":
            return bytes(16)
        case "bool":
            return text.lower() == "true"
        case "float64":
            return float(text or 0)
        case _:
            return int(text or "0", 0)
