"""A column of messages, made into a column of values beside one of error texts.

The schemas of writers are asked for when a message first names them, and kept: READERS_MAX of them
in one process, the least recently used ones are forgotten. That a schema cannot be had or used is
kept, too, for RETRY_S or DOWN_S seconds, so that a thousand messages of an unknown id cost one
request.
"""

import time
from collections import OrderedDict
from collections.abc import Callable
from functools import lru_cache
from typing import Final, TypeVar

import pyarrow as pa

from broker_lite.pipeline.registry.avro.result import AvroResult
from broker_lite.pipeline.registry.errors import (
    BadMessage,
    RegistryDown,
    RegistryError,
    UnusableSchema,
)
from broker_lite.pipeline.registry.protobuf.result import ProtobufResult
from broker_lite.pipeline.registry.result import ReadMessage, Result, Value
from broker_lite.pipeline.registry.settings import ColumnFormat, Format, StoredSchema
from broker_lite.pipeline.registry.sources.source import SchemaSource, source_of
from broker_lite.pipeline.registry.wire_format import schema_id_of

READERS_MAX: Final = 1_000
RETRY_S: Final = 60.0
DOWN_S: Final = 10.0

_Kept = TypeVar("_Kept")

_MAKERS: Final[dict[Format, Callable[[StoredSchema, str | None], Result]]] = {
    Format.AVRO: lambda schema, _: AvroResult(schema),
    Format.PROTOBUF: ProtobufResult,
}


def result_of(wanted: ColumnFormat) -> Result:
    """Return the schema of a column's values.

    Args:
        wanted: with its schema.

    Raises:
        UnusableSchema: no column can be made by the schema.
        MissingExtra: a library is not installed.
    """
    schema = wanted.schema
    if schema is None or schema.format is not wanted.format:
        raise UnusableSchema(f"the schema of the result is no {wanted.format} schema")
    try:
        return _MAKERS[wanted.format](schema, wanted.message)
    except UnusableSchema as error:
        raise UnusableSchema(f"the schema of the result: {error}") from error


@lru_cache(maxsize=16)
def decoder_of(wanted: ColumnFormat) -> "ColumnDecoder":
    """Return the decoder of a column, one for each process, so that it keeps its schemas.

    Raises:
        UnusableSchema: no column can be made by the schema.
        MissingExtra: a library is not installed.
    """
    return ColumnDecoder(result_of(wanted), source_of(wanted.registry))


class ColumnDecoder:
    """Reads messages by the schema of a result.

    Args:
        result: what is to come out.
        source: has the schemas by which the messages were written.
        clock_s: seconds that only go forward.
    """

    def __init__(
        self, result: Result, source: SchemaSource, clock_s: Callable[[], float] = time.monotonic
    ) -> None:
        self.result = result
        self._source = source
        self._clock_s = clock_s
        self._readers: OrderedDict[int, ReadMessage] = OrderedDict()
        self._refusals: OrderedDict[int, tuple[float, str]] = OrderedDict()

    def decode(self, messages: pa.Array) -> tuple[pa.Array, pa.Array]:
        """Return values and error texts, one each for every message.

        Where there is a text, the value is null; where there was no message, both are.

        Args:
            messages: binary; null where there is no message.
        """
        values: list[Value] = []
        errors: list[str | None] = [None] * len(messages)
        for row, message in enumerate(messages.to_pylist()):
            value = None
            if message is not None:
                try:
                    value = self._reader(schema_id_of(message))(message)
                except BadMessage as error:
                    errors[row] = f"the message {error}"
                except RegistryError as error:
                    errors[row] = str(error)
            values.append(value)
        column = self._column(values, errors, 0)
        return column, pa.array(errors, pa.string())

    def _reader(self, schema_id: int) -> ReadMessage:
        reader = self._readers.get(schema_id)
        if reader is not None:
            self._readers.move_to_end(schema_id)
            return reader
        until_s, text = self._refusals.get(schema_id, (0.0, ""))
        if text and self._clock_s() < until_s:
            raise RegistryError(text)
        try:
            reader = self.result.reader_of(self._source.by_id(schema_id))
        except RegistryError as error:
            text = f"schema {schema_id}: {error}"
            wait_s = DOWN_S if isinstance(error, RegistryDown) else RETRY_S
            _keep(self._refusals, schema_id, (self._clock_s() + wait_s, text))
            raise RegistryError(text) from error
        _keep(self._readers, schema_id, reader)
        return reader

    def _column(self, values: list[Value], errors: list[str | None], first: int) -> pa.Array:
        """Return an array of values; one that its type does not hold becomes null, with a text.

        Args:
            values: some of the column's.
            errors: of the whole column; takes texts.
            first: the row of the first value.
        """
        result = self.result
        try:
            return pa.array(values, result.type)
        except (pa.ArrowException, ValueError, OverflowError, TypeError) as error:
            if len(values) == 1:
                text = " ".join(str(error).split())
                errors[first] = f"the message has a value that its column does not hold: {text}"
                return pa.nulls(1, result.type)
        half = len(values) // 2
        left = self._column(values[:half], errors, first)
        return pa.concat_arrays([left, self._column(values[half:], errors, first + half)])


def _keep(cache: OrderedDict[int, _Kept], schema_id: int, kept: _Kept) -> None:
    cache[schema_id] = kept
    cache.move_to_end(schema_id)
    if len(cache) > READERS_MAX:
        cache.popitem(last=False)
