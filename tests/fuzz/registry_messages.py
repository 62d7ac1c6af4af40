"""Avro and Protobuf messages with a schema id, sound and damaged, read into columns.

- A sound message gives what fastavro or protobuf wrote, also by a newer or older schema.
- One with another magic byte or an unknown id is an error; of Avro also one that is cut, or has
  bytes behind it.
- Other damage gives an error, or a value that fastavro or protobuf reads without an error, too.
- Whatever comes, no exception leaves the decoder, and its neighbours in the column are unhurt.
"""

import copy
import io
import random
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import fastavro
import pyarrow as pa

from broker_lite.pipeline.registry.avro.result import AvroResult
from broker_lite.pipeline.registry.avro.schema import without_logical_types
from broker_lite.pipeline.registry.column_decoder import ColumnDecoder
from broker_lite.pipeline.registry.errors import UnknownSchema
from broker_lite.pipeline.registry.protobuf.result import ProtobufResult
from broker_lite.pipeline.registry.result import Result
from broker_lite.pipeline.registry.settings import StoredSchema
from broker_lite.pipeline.registry.wire_format import HEADER_BYTES
from tests.fuzz.registry_schemas import MESSAGES, Schemas, fill
from tests.pipeline.registry import avro_messages, protobuf_messages
from tests.support.command import seeded_main

COLUMN_ROWS: Final = 20
ID: Final = 7
PROTOBUF_SHARE: Final = 0.3
INDEXES: Final = b"\x02\x02"

SURE: Final = ("magic", "id", "short")
AVRO_SURE: Final = (*SURE, "cut", "more")
ELSE: Final = ("flip", "flips", "random", "swap")


@dataclass(slots=True)
class Found:
    """What a run saw."""

    cases: int = 0
    faults: list[str] = field(default_factory=list)
    outcomes: Counter[str] = field(default_factory=Counter)

    def summary(self) -> str:
        """The figures of the run."""
        told = ", ".join(f"{name} {count:,}" for name, count in sorted(self.outcomes.items()))
        return f"{self.cases:,} messages: {told}\n{len(self.faults)} faults"


@dataclass(slots=True)
class _Row:
    message: bytes
    damage: str = ""
    shown: Any = None


class _Source:
    """Has one schema under one id."""

    def __init__(self, schema: StoredSchema) -> None:
        self._schema = schema

    def by_id(self, schema_id: int) -> StoredSchema:
        if schema_id != ID:
            raise UnknownSchema("there is none")
        return self._schema

    def latest(self, subject: str) -> StoredSchema:
        raise NotImplementedError


def damaged(source: random.Random, message: bytes, damage: str) -> bytes:
    """A message with a damage of one kind."""
    data = bytearray(message)
    match damage:
        case "magic":
            data[0] = source.randint(1, 255)
        case "id":
            data[1:HEADER_BYTES] = (source.randint(ID + 1, (1 << 32) - 1)).to_bytes(4)
        case "short":
            del data[source.randrange(HEADER_BYTES) :]
        case "cut":
            del data[source.randrange(HEADER_BYTES, len(data)) :]
        case "more":
            data += source.randbytes(source.randint(1, 9))
        case "flip" | "flips":
            for _ in range(1 if damage == "flip" else source.randint(2, 9)):
                place = source.randrange(HEADER_BYTES, len(data))
                data[place] ^= 1 << source.randrange(8)
        case "random":
            data[HEADER_BYTES:] = source.randbytes(source.randint(0, 100))
        case "swap":
            first, second = (source.randrange(HEADER_BYTES, len(data)) for _ in range(2))
            data[first], data[second] = data[second], data[first]
    return bytes(data)


def evolved(source: random.Random, schema: Any, rows: list[_Row]) -> Any:
    """A schema of the reader that differs by a field, and rows that show it."""
    reader = copy.deepcopy(schema)
    change = source.choice(("same", "more", "less", "order"))
    fields = reader["fields"]
    if change == "more":
        fields.insert(0, {"name": "added", "type": ["null", "long"], "default": None})
        fields.append({"name": "bytes", "type": "bytes", "default": "\u00ff"})
        for row in rows:
            row.shown |= {"added": None, "bytes": b"\xff"}
    elif change == "less" and len(fields) > 1:
        gone = fields.pop()["name"]
        for row in rows:
            del row.shown[gone]
    elif change == "order":
        fields.reverse()
    return reader


def avro_column(source: random.Random) -> tuple[Result, StoredSchema, list[_Row], Any]:
    """Rows of a random schema, and what reads them."""
    schema, make = Schemas(source).record()
    rows = []
    for _ in range(COLUMN_ROWS):
        value, shown = make(source)
        rows.append(_Row(avro_messages.encoded(schema, value, ID), shown=shown))
    reader = evolved(source, schema, rows)
    writer = avro_messages.stored(schema)
    plain = fastavro.parse_schema(without_logical_types(schema))
    return AvroResult(avro_messages.stored(reader)), writer, rows, plain


def protobuf_column(source: random.Random) -> tuple[Result, StoredSchema, list[_Row], Any]:
    """Rows of the one message, and what reads them."""
    made = protobuf_messages.message_class(MESSAGES, "fuzz.All")
    rows = []
    for _ in range(COLUMN_ROWS):
        message = made()
        shown = fill(source, message)
        rows.append(_Row(protobuf_messages.framed(message, INDEXES, ID), shown=shown))
    return ProtobufResult(MESSAGES, "fuzz.All"), MESSAGES, rows, made


def judge_column(seed: int, number: int, found: Found) -> None:
    """Read one column; it is the same by its number."""
    source = random.Random(f"{seed} {number}")
    is_avro = source.random() >= PROTOBUF_SHARE
    column = avro_column if is_avro else protobuf_column
    result, schema, rows, plain = column(source)
    for row in rows:
        is_empty = len(row.message) == HEADER_BYTES
        if source.random() < 0.6:
            choices = (*SURE, "more") if is_empty and is_avro else (*AVRO_SURE, *ELSE)
            row.damage = source.choice(choices if is_avro else (*SURE, "cut", *ELSE))
            row.message = damaged(source, row.message, row.damage)
    decoder = ColumnDecoder(result, _Source(schema))
    values, errors = decoder.decode(pa.array([row.message for row in rows], pa.binary()))
    values.validate(full=True)
    for index, (row, error) in enumerate(zip(rows, errors.to_pylist(), strict=True)):
        place = f"seed {seed} column {number} row {index} {row.damage or 'sound'}"
        fault = _fault(row, values[index], error, is_avro, plain)
        outcome = "value" if error is None else "error"
        found.outcomes[
            f"{'avro' if is_avro else 'protobuf'} {row.damage or 'sound'} {outcome}"
        ] += 1
        found.cases += 1
        if fault:
            found.faults.append(f"{place}: {fault}")


def _fault(row: _Row, value: Any, error: str | None, is_avro: bool, plain: Any) -> str:
    """What is wrong with a row; empty if nothing is."""
    if error is not None:
        if value.is_valid:
            return "a value beside an error"
        if "\n" in error:
            return f"more than one line: {error!r}"
        return "" if row.damage else error
    if not value.is_valid:
        return "neither value nor error"
    if not row.damage:
        shown = value.as_py()
        if not is_avro:
            shown["p"].sort()
            shown["q"].sort(key=lambda pair: str(pair[0]))
        return "" if shown == row.shown else f"{shown!r} instead of {row.shown!r}"
    if row.damage in (AVRO_SURE if is_avro else SURE):
        return "a value of a message that is none"
    return _unread(row.message, is_avro, plain)


def _unread(message: bytes, is_avro: bool, plain: Any) -> str:
    """What the library says of a damaged message that was read."""
    if not is_avro:
        plain.FromString(message[HEADER_BYTES + len(INDEXES) :])
        return ""
    stream = io.BytesIO(message)
    stream.seek(HEADER_BYTES)
    try:
        fastavro.schemaless_reader(stream, plain, None)
    except (EOFError, IndexError, ValueError, OverflowError) as error:
        return f"fastavro does not read it: {error!r}"
    return "" if stream.tell() == len(message) else "fastavro leaves bytes"


def run(seed: int, cases: int, _: Path) -> Found:
    """Read columns until there were so many messages.

    Args:
        seed: of chance.
        cases: how many messages.
    """
    found = Found()
    number = 0
    while found.cases < cases and len(found.faults) < 20:
        judge_column(seed, number, found)
        number += 1
    return found


def main() -> int:
    """Run from the command line."""
    return seeded_main(run, __doc__, count="cases", default=20_000)


if __name__ == "__main__":
    sys.exit(main())
