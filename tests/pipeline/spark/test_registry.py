"""Topics that a real client's serializers wrote, read as columns and held to the originals."""

import datetime
import json
import uuid
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.schema_registry.avro import AvroSerializer
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from broker_lite.pipeline.registry.settings import USER_INFO_VARIABLE
from broker_lite.pipeline.registry.wanted import NoResultSchema
from broker_lite.pipeline.spark.registry import from_avro_registry
from tests.pipeline.spark.registry_logs import USER_INFO, Logs, load, started

pytestmark = pytest.mark.client

RECORDS = 500
NEW_YEAR = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)

LINE = {
    "type": "record",
    "name": "Line",
    "fields": [
        {"name": "sku", "type": "string"},
        {"name": "count", "type": "int"},
        {
            "name": "price",
            "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2},
        },
    ],
}
ORDER = {
    "type": "record",
    "name": "Order",
    "namespace": "shop",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "ref", "type": {"type": "string", "logicalType": "uuid"}},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "due", "type": {"type": "int", "logicalType": "date"}},
        {"name": "state", "type": {"type": "enum", "name": "State", "symbols": ["NEW", "PAID"]}},
        {"name": "note", "type": ["null", "string"], "default": None},
        {"name": "lines", "type": {"type": "array", "items": LINE}},
        {"name": "tags", "type": {"type": "map", "values": "double"}},
        {"name": "mark", "type": {"type": "fixed", "name": "Mark", "size": 3}},
        {"name": "odd", "type": ["null", "boolean", "string", "State"]},
    ],
}
SPARK_ORDER = (
    "id bigint, ref string, at timestamp, due date, state string, note string,"
    " lines array<struct<sku: string, count: int, price: decimal(9,2)>>, tags map<string, double>,"
    " mark binary, odd struct<member0: boolean, member1: string, member2: string>"
)
# The next version of the producer: a field is gone, one is new, one is wider.
NEWER = {
    "type": "record",
    "name": "Order",
    "namespace": "shop",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "paid", "type": "boolean"},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
    ],
}


def order(number: int) -> dict[str, Any]:
    price = Decimal(number * 101 - 5000).scaleb(-2)
    return {
        "id": number,
        "ref": uuid.UUID(int=number),
        "at": NEW_YEAR + datetime.timedelta(milliseconds=number * 1001),
        "due": NEW_YEAR.date() + datetime.timedelta(days=number),
        "state": ("NEW", "PAID")[number % 2],
        "note": None if number % 3 else f"note {number} \N{SNOWMAN}",
        "lines": [
            {"sku": f"s{line}", "count": line - 1, "price": price} for line in range(number % 4)
        ],
        "tags": {f"t{tag}": tag / 3 for tag in range(number % 3)},
        "mark": bytes((number % 256, 0, 255)),
        "odd": (None, True, "text", ("shop.State", "NEW"))[number % 4],
    }


def expected_row(number: int) -> tuple[Any, ...]:
    row = order(number)
    odd = (None, (True, None, None), (None, "text", None), (None, None, "NEW"))[number % 4]
    lines = [tuple(line.values()) for line in row["lines"]]
    return tuple({**row, "ref": str(row["ref"]), "lines": lines, "odd": odd}.values())


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Logs]:
    with started(tmp_path_factory.mktemp("registry")) as logs:
        yield logs


@pytest.fixture(scope="module")
def orders(logs: Logs) -> Logs:
    """The topic `orders`: RECORDS values, then a tombstone, junk, and one of an unknown schema."""
    write = AvroSerializer(logs.client, json.dumps(ORDER))
    values = logs.encoded("orders", write, [order(number) for number in range(RECORDS)])
    logs.write("orders", [*values, None, b"junk", b"\0\0\0\x03\xe7rest"], key=b"\0\0\0\0\x09k")
    return logs


@pytest.fixture(autouse=True)
def user_info(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(USER_INFO_VARIABLE, USER_INFO)


def assert_same(found: DataFrame, expected: DataFrame) -> None:
    """Maps cannot be compared by exceptAll(): as arrays of entries they can."""
    frames = [
        frame.withColumn("tags", sf.sort_array(sf.map_entries("tags")))
        for frame in (found, expected)
    ]
    assert frames[0].schema.simpleString() == frames[1].schema.simpleString()
    assert frames[0].exceptAll(frames[1]).count() == 0
    assert frames[1].exceptAll(frames[0]).count() == 0


def originals(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame([expected_row(number) for number in range(RECORDS)], SPARK_ORDER)


def test_avro_by_the_option(spark: SparkSession, orders: Logs) -> None:
    rows = load(spark, orders, "orders", value_format="avro", schema_registry=orders.registry.url)
    assert_same(rows.where("value IS NOT NULL").select("value.*"), originals(spark))
    rest = rows.where("value IS NULL").orderBy("offset").select("offset", "valueError").collect()
    unknown = f"schema 999: {orders.registry.url} has no /schemas/ids/999"
    assert [tuple(row) for row in rest] == [
        (RECORDS, None),
        (RECORDS + 1, "the message has 4 bytes, too few for a schema id"),
        (RECORDS + 2, unknown),
    ]
    assert rows.where("valueError IS NOT NULL").select("offset").count() == 2


def test_avro_by_the_expression(spark: SparkSession, orders: Logs) -> None:
    raw = load(spark, orders, "orders")
    decoded = from_avro_registry("value", orders.registry.url, subject="orders-value")
    rows = raw.select("offset", decoded.alias("order"))
    assert_same(rows.where("order.value IS NOT NULL").select("order.value.*"), originals(spark))
    assert rows.where("order.error IS NOT NULL").count() == 2
    assert rows.count() == RECORDS + 3


def test_avro_of_a_folder(spark: SparkSession, orders: Logs, tmp_path: Path) -> None:
    schema_id = orders.client.get_latest_version("orders-value").schema_id
    (tmp_path / f"{schema_id}.avsc").write_text(json.dumps(ORDER))
    options = {"value_schema_id": str(schema_id), "schema_registry": str(tmp_path)}
    rows = load(spark, orders, "orders", value_format="avro", **options)
    assert_same(rows.where("value IS NOT NULL").select("value.*"), originals(spark))


def test_evolution(spark: SparkSession, logs: Logs) -> None:
    """Two versions in one topic, read by each of them."""
    old = AvroSerializer(logs.client, json.dumps(ORDER))
    logs.write("evolved", logs.encoded("evolved", old, [order(1)]))
    new = AvroSerializer(logs.client, json.dumps(NEWER))
    value = {"id": 2, "paid": True, "at": NEW_YEAR}
    logs.write("evolved", logs.encoded("evolved", new, [value]))
    options = {"value_format": "avro", "schema_registry": logs.registry.url}
    rows = load(spark, logs, "evolved", **options).orderBy("offset").collect()
    unread = "schema 1: the field paid was not written, and the result's schema has no default"
    assert str(rows[0].valueError).startswith(unread)
    assert rows[1].value.paid is True
    tolerant = json.loads(json.dumps(NEWER))
    tolerant["fields"][1] |= {"type": ["null", "boolean"], "default": None}
    options["value_schema"] = json.dumps(tolerant)
    rows = load(spark, logs, "evolved", **options).orderBy("offset").select("value.*").collect()
    assert [(row.id, row.paid) for row in rows] == [(1, None), (2, True)]


def test_a_stream_of_values(spark: SparkSession, orders: Logs, tmp_path: Path) -> None:
    reader = spark.readStream.format("kafka_segments").option("subscribe", "orders")
    reader = reader.option("value.format", "avro").option("startingOffsets", "earliest")
    reader = reader.option("schema.registry.basic.auth.user.info", USER_INFO)
    rows = reader.option("schema.registry", orders.registry.url).load(str(orders.folder))
    chosen = rows.where("valueError IS NULL AND value IS NOT NULL").select("value.*")
    target, checkpoint = str(tmp_path / "out"), str(tmp_path / "checkpoint")
    query = (
        chosen.writeStream.format("parquet")
        .option("checkpointLocation", checkpoint)
        .trigger(availableNow=True)
        .start(target)
    )
    query.awaitTermination(120)
    assert not query.isActive
    assert_same(spark.read.parquet(target), originals(spark))


def test_a_registry_that_is_down(spark: SparkSession, orders: Logs) -> None:
    """Rows keep their offsets if the schema of the result is known; else there is one line."""
    down = "http://127.0.0.1:1"
    options = {"value_format": "avro", "schema_registry": down, "schema_registry_retries": "0"}
    rows = load(spark, orders, "orders", value_schema=json.dumps(ORDER), **options)
    found = rows.groupBy("valueError").count().orderBy("count").collect()
    assert found[-1]["count"] == RECORDS
    assert found[-1].valueError.startswith(f"schema 1: the registry {down} does not answer: ")
    line = f"the latest schema of the subject orders-value: the registry {down} does not answer"
    with pytest.raises(PySparkException, match=line):
        load(spark, orders, "orders", **options)
    with pytest.raises(NoResultSchema, match=f"^{line}"):
        from_avro_registry("value", down, subject="orders-value", retries=0)


def test_a_recursive_schema_is_refused(tmp_path: Path) -> None:
    schema = '{"type":"record","name":"T","fields":[{"name":"next","type":["null","T"]}]}'
    with pytest.raises(NoResultSchema, match="type T contains itself, which no column can hold"):
        from_avro_registry("value", str(tmp_path), schema=schema)


def test_which_schema_is_said_once(tmp_path: Path) -> None:
    for how in ({}, {"schema": '"int"', "schema_id": 1}):
        with pytest.raises(ValueError, match="exactly one of them is needed"):
            from_avro_registry("value", str(tmp_path), **how)  # type: ignore[arg-type]
