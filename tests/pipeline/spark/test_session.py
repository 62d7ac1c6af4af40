import os
import subprocess
import sys
from pathlib import Path

import pyspark
import pytest
from pyspark.sql import SparkSession

from broker_lite.pipeline.spark.java import find_java
from broker_lite.pipeline.spark.session import LOOPBACK, is_on_loopback, session


def test_a_session_listens_on_the_loopback_only(spark: SparkSession) -> None:
    conf = spark.sparkContext.getConf()
    assert conf.get("spark.driver.host") == LOOPBACK
    assert conf.get("spark.driver.bindAddress") == LOOPBACK
    assert spark.sparkContext.uiWebUrl is None


def test_a_session_that_is_there_is_taken(spark: SparkSession) -> None:
    assert session("another", conf={"spark.sql.shuffle.partitions": "9"}) is spark
    assert spark.conf.get("spark.sql.shuffle.partitions") == "1"


def test_settings_of_this_module_and_those_that_were_given(spark: SparkSession) -> None:
    assert spark.conf.get("spark.sql.python.filterPushdown.enabled") == "true"
    assert spark.conf.get("spark.sql.session.timeZone") == "UTC"


def test_workers_are_this_python(spark: SparkSession) -> None:
    def program(batches):  # type: ignore[no-untyped-def]
        import sys

        import pyarrow as pa

        for _ in batches:
            yield pa.RecordBatch.from_pydict({"program": [sys.executable]})

    rows = spark.range(1, numPartitions=1).mapInArrow(program, "program string").collect()
    assert [row.program for row in rows] == [sys.executable]


def test_the_environment_is_left_as_it_was(spark: SparkSession) -> None:
    assert "SPARK_LOCAL_IP" not in os.environ


@pytest.mark.parametrize(
    ("master", "expected"),
    [
        ("local", True),
        ("local[*]", True),
        ("local-cluster[2,1,1024]", True),
        ("spark://127.0.0.1:7077", True),
        ("spark://localhost:7077", True),
        ("spark://master:7077", False),
        ("k8s://https://host:443", False),
        ("yarn", False),
    ],
)
def test_is_on_loopback(master: str, expected: bool) -> None:
    assert is_on_loopback(master) is expected


@pytest.mark.slow
def test_what_spark_submit_was_told_holds(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "from broker_lite.pipeline.spark.session import session\n"
        "spark = session('submitted', conf={'spark.sql.shuffle.partitions': '3'})\n"
        "names = ('spark.sql.shuffle.partitions', 'spark.sql.python.filterPushdown.enabled',\n"
        "         'spark.sql.execution.pyspark.udf.hideTraceback.enabled',\n"
        "         'spark.sql.execution.arrow.maxRecordsPerBatch')\n"
        "print(spark.sparkContext.master, *(spark.conf.get(name) for name in names))\n"
        "spark.stop()\n"
    )
    submit = Path(pyspark.__file__).parent / "bin" / "spark-submit"
    told = {
        "spark.ui.enabled": "false",
        "spark.driver.extraJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1",
        "spark.sql.shuffle.partitions": "7",
        "spark.sql.execution.pyspark.udf.hideTraceback.enabled": "false",
    }
    options = [word for name, value in told.items() for word in ("--conf", f"{name}={value}")]
    done = subprocess.run(
        [submit, "--master", "local[1]", *options, program],
        env={
            **os.environ,
            "JAVA_HOME": str(find_java().home),
            "PYSPARK_PYTHON": sys.executable,
            "SPARK_LOCAL_IP": LOOPBACK,
        },
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.stdout.split() == ["local[1]", "3", "true", "false", "1000"], done.stderr
