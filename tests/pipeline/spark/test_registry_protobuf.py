"""Topics of Protobuf messages that a real client's serializer wrote, held to the originals."""

import base64
import datetime
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.schema_registry.protobuf import ProtobufSerializer
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from broker_lite.pipeline.registry.protobuf.compiler import MAIN, compiled
from broker_lite.pipeline.spark.registry import from_protobuf_registry
from tests.pipeline.registry.protobuf_messages import message_class, stored
from tests.pipeline.spark.registry_logs import USER_INFO, Logs, load, started

pytestmark = pytest.mark.client

RECORDS = 300
NEW_YEAR = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
MONEY_FILE = "shop/money.proto"
MONEY = stored('syntax = "proto2"; package shop; message Money { required int64 cents = 1; }')
TEXT = """syntax = "proto3";
package shop;
import "google/protobuf/duration.proto";
import "google/protobuf/timestamp.proto";
import "google/protobuf/wrappers.proto";
import "shop/money.proto";
message Cancelled { int64 id = 1; }
message Order {
  enum State { NEW = 0; PAID = 1; }
  message Line { string sku = 1; sint32 count = 2; shop.Money price = 3; }
  int64 id = 1;
  optional string note = 2;
  State state = 3;
  repeated Line lines = 4;
  map<string, double> tags = 5;
  google.protobuf.Timestamp at = 6;
  google.protobuf.Duration took = 7;
  google.protobuf.Int32Value rank = 8;
  oneof paid { string card = 9; bool cash = 10; }
  bytes mark = 11;
  uint64 big = 12;
}
"""
ORDERS = stored(TEXT, (MONEY_FILE, MONEY.text))
SPARK_ORDER = (
    "id bigint, note string, state string,"
    " lines array<struct<sku: string, count: int, price: struct<cents: bigint>>>,"
    " tags map<string, double>, at timestamp, took interval day to second, rank int, card string,"
    " cash boolean, mark binary, big decimal(20,0)"
)


def order(number: int) -> Any:
    made = message_class(ORDERS, "shop.Order")(
        id=number, state=number % 2, mark=bytes((number % 256, 255)), big=(1 << 64) - 1 - number
    )
    if number % 3 == 0:
        made.note = ""
    for line in range(number % 4):
        made.lines.add(sku=f"s{line}", count=-line, price={"cents": number})
    for tag in range(number % 3):
        made.tags[f"t{tag}"] = tag / 3
    made.at.FromDatetime(NEW_YEAR + datetime.timedelta(microseconds=number * 1_000_001))
    made.took.FromMicroseconds(number * 7 - 500)
    if number % 2:
        made.rank.value = 0
    if number % 5 == 1:
        made.card = f"card {number}"
    elif number % 5 == 2:
        made.cash = False
    return made


def expected_row(number: int) -> tuple[Any, ...]:
    return (
        number,
        None if number % 3 else "",
        ("NEW", "PAID")[number % 2],
        [(f"s{line}", -line, (number,)) for line in range(number % 4)],
        {f"t{tag}": tag / 3 for tag in range(number % 3)},
        NEW_YEAR + datetime.timedelta(microseconds=number * 1_000_001),
        datetime.timedelta(microseconds=number * 7 - 500),
        0 if number % 2 else None,
        f"card {number}" if number % 5 == 1 else None,
        False if number % 5 == 2 else None,
        bytes((number % 256, 255)),
        Decimal((1 << 64) - 1 - number),
    )


@pytest.fixture(scope="module", params=["texts", "descriptors"])
def logs(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Logs]:
    """The topic `orders`: RECORDS orders, another message, and junk.

    Confluent's registry gives texts for the descriptors that its Python client registers; others
    give back what they got.
    """
    with started(tmp_path_factory.mktemp("registry")) as logs:
        if request.param == "texts":
            pool = compiled(ORDERS).pool
            for name, text in ((MAIN, TEXT), (MONEY_FILE, MONEY.text)):
                file = pool.FindFileByName(name).serialized_pb
                logs.registry.texts[base64.b64encode(file).decode()] = text
        settings = {"use.deprecated.format": False}
        write = ProtobufSerializer(message_class(ORDERS, "shop.Order"), logs.client, settings)
        values = logs.encoded("orders", write, [order(number) for number in range(RECORDS)])
        cancelled = message_class(ORDERS, "shop.Cancelled")
        other = ProtobufSerializer(cancelled, logs.client, settings)
        values += logs.encoded("orders", other, [cancelled(id=5)])
        logs.write("orders", [*values, b"junk", None])
        yield logs


def assert_same(spark: SparkSession, found: DataFrame) -> None:
    rows = [expected_row(number) for number in range(RECORDS)]
    tags = sf.sort_array(sf.map_entries("tags"))  # exceptAll() does not compare maps
    frames = [
        frame.withColumn("tags", tags)
        for frame in (found, spark.createDataFrame(rows, SPARK_ORDER))
    ]
    assert frames[0].schema.simpleString() == frames[1].schema.simpleString()
    assert frames[0].exceptAll(frames[1]).count() == 0
    assert frames[1].exceptAll(frames[0]).count() == 0


def test_protobuf_by_the_option(spark: SparkSession, logs: Logs) -> None:
    options = {"value_format": "protobuf", "schema_registry": logs.registry.url}
    rows = load(spark, logs, "orders", value_message="shop.Order", **options)
    assert_same(spark, rows.where("value IS NOT NULL").select("value.*"))
    rest = rows.where("value IS NULL").orderBy("offset").select("offset", "valueError").collect()
    assert [tuple(row) for row in rest] == [
        (RECORDS, "the message is of shop.Cancelled, not of shop.Order"),
        (RECORDS + 1, "the message has 4 bytes, too few for a schema id"),
        (RECORDS + 2, None),
    ]


def test_protobuf_by_the_expression(spark: SparkSession, logs: Logs) -> None:
    """Each kind of message in a column of its own; the first of the schema is the default."""
    how: dict[str, Any] = {"subject": "orders-value", "credentials": USER_INFO}
    raw = load(spark, logs, "orders")
    rows = raw.select(
        from_protobuf_registry("value", logs.registry.url, message="shop.Order", **how).alias("o"),
        from_protobuf_registry("value", logs.registry.url, **how).alias("c"),
    )
    assert_same(spark, rows.where("o.value IS NOT NULL").select("o.value.*"))
    assert rows.where("c.value IS NOT NULL").select("c.value.id").collect() == [(5,)]


def test_protobuf_of_a_folder(spark: SparkSession, logs: Logs, tmp_path: Path) -> None:
    (tmp_path / "shop").mkdir()
    (tmp_path / MONEY_FILE).write_text(MONEY.text)
    schema_id = logs.client.get_latest_version("orders-value").schema_id
    (tmp_path / f"{schema_id}.proto").write_text(TEXT)
    options = {"value_schema_id": str(schema_id), "schema_registry": str(tmp_path)}
    options |= {"value_format": "protobuf", "value_message": "shop.Order"}
    rows = load(spark, logs, "orders", **options)
    assert_same(spark, rows.where("value IS NOT NULL").select("value.*"))
