import pyarrow as pa
import pytest

from broker_lite.pipeline.registry.avro.result import AvroResult
from broker_lite.pipeline.registry.column_decoder import (
    DOWN_S,
    READERS_MAX,
    RETRY_S,
    ColumnDecoder,
    decoder_of,
)
from broker_lite.pipeline.registry.errors import RegistryDown, UnknownSchema
from broker_lite.pipeline.registry.settings import (
    ColumnFormat,
    Format,
    RegistrySettings,
    StoredSchema,
)
from tests.pipeline.registry.avro_messages import encoded, field, framed, record, stored

WRITER = record(field("n", "int"))
READER = record(field("n", "long"), field("more", "string", default="none"))
MOMENT = {"type": "long", "logicalType": "timestamp-millis"}


class Source:
    """Has one schema under the ids from 1 to a number, and counts what is asked."""

    def __init__(self, ids: int = 1, schema: StoredSchema | None = None) -> None:
        self.ids = ids
        self.is_down = False
        self.asked = 0
        self._schema = schema or stored(WRITER)

    def by_id(self, schema_id: int) -> StoredSchema:
        self.asked += 1
        if self.is_down:
            raise RegistryDown("it is down")
        if schema_id > self.ids:
            raise UnknownSchema("there is none")
        return self._schema

    def latest(self, subject: str) -> StoredSchema:
        raise NotImplementedError


class Clock:
    now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


def decoded(decoder: ColumnDecoder, *messages: bytes | None) -> tuple[list[object], list[object]]:
    values, errors = decoder.decode(pa.array(messages, pa.binary()))
    assert values.type == decoder.result.type
    return values.to_pylist(), errors.to_pylist()


def test_values_beside_errors() -> None:
    decoder = ColumnDecoder(AvroResult(stored(READER)), Source())
    good = encoded(WRITER, {"n": 5})
    assert decoded(decoder, good, None, b"junk", good[:-1] + b"\x80", framed(9, b""), good) == (
        [{"n": 5, "more": "none"}, None, None, None, None, {"n": 5, "more": "none"}],
        [
            None,
            None,
            "the message has 4 bytes, too few for a schema id",
            "the message ends within its value, or has an index of a union or enum that there is"
            " not",
            "schema 9: there is none",
            None,
        ],
    )


def test_no_rows() -> None:
    assert decoded(ColumnDecoder(AvroResult(stored(READER)), Source())) == ([], [])


def test_a_value_that_the_column_does_not_hold() -> None:
    """fastavro reads an int of any size."""
    decoder = ColumnDecoder(AvroResult(stored(WRITER)), Source())
    values = [0, 1, 1 << 40, 3, -(1 << 40)]
    wide = record(field("n", "long"))
    found, errors = decoded(decoder, *(encoded(wide, {"n": value}) for value in values))
    assert found == [{"n": 0}, {"n": 1}, None, {"n": 3}, None]
    assert [error is None for error in errors] == [True, True, False, True, False]
    assert "has a value that its column does not hold" in str(errors[2])


def test_a_moment_that_the_column_does_not_hold() -> None:
    schema = record(field("at", MOMENT))
    decoder = ColumnDecoder(AvroResult(stored(schema)), Source(schema=stored(schema)))
    values = [0, 1 << 60, -(1 << 60)]
    plain = record(field("at", "long"))
    found, errors = decoded(decoder, *(encoded(plain, {"at": value}) for value in values))
    assert [value is None for value in found] == [False, True, True]
    text = "the message has a timestamp that microseconds do not hold: 1152921504606846976 ms"
    assert errors[1] == text


def test_an_unknown_id_is_asked_for_once_in_a_while() -> None:
    source, clock = Source(), Clock()
    decoder = ColumnDecoder(AvroResult(stored(READER)), source, clock)
    message = encoded(WRITER, {"n": 5}, schema_id=2)
    assert decoded(decoder, *[message] * 100)[1] == ["schema 2: there is none"] * 100
    assert source.asked == 1
    source.ids = 2
    clock.now_s += RETRY_S
    assert decoded(decoder, *[message] * 100)[1] == [None] * 100
    assert source.asked == 2


def test_a_registry_that_is_down_is_asked_again_sooner() -> None:
    source, clock = Source(), Clock()
    source.is_down = True
    decoder = ColumnDecoder(AvroResult(stored(READER)), source, clock)
    message = encoded(WRITER, {"n": 5})
    assert decoded(decoder, message, message)[1] == ["schema 1: it is down"] * 2
    source.is_down = False
    clock.now_s += DOWN_S
    assert decoded(decoder, message)[1] == [None]
    assert source.asked == 2
    source.is_down = True  # what is known is not asked for
    assert decoded(decoder, message)[1] == [None]


def test_the_least_recently_used_schema_is_forgotten() -> None:
    source = Source(ids=READERS_MAX + 1)
    decoder = ColumnDecoder(AvroResult(stored(WRITER)), source)
    messages = [encoded(WRITER, {"n": 5}, number) for number in range(1, READERS_MAX + 1)]
    decoded(decoder, *messages)
    decoded(decoder, messages[0], encoded(WRITER, {"n": 5}, READERS_MAX + 1))
    assert source.asked == READERS_MAX + 1
    decoded(decoder, messages[0])
    assert source.asked == READERS_MAX + 1
    decoded(decoder, messages[1])
    assert source.asked == READERS_MAX + 2


def test_one_decoder_for_a_column_in_a_process() -> None:
    settings = RegistrySettings(location="nowhere")
    wanted = ColumnFormat(format=Format.AVRO, registry=settings, schema=stored(READER))
    assert decoder_of(wanted) is decoder_of(wanted)
    values, errors = decoder_of(wanted).decode(pa.array([encoded(WRITER, {"n": 5})]))
    assert values.null_count == 1
    assert errors.to_pylist() == ["schema 1: there is no folder nowhere"]


@pytest.mark.parametrize("kind", [pa.binary(), pa.large_binary()])
def test_any_binary_column(kind: pa.DataType) -> None:
    decoder = ColumnDecoder(AvroResult(stored(WRITER)), Source())
    values, _ = decoder.decode(pa.array([encoded(WRITER, {"n": 5})], kind))
    assert values.to_pylist() == [{"n": 5}]
