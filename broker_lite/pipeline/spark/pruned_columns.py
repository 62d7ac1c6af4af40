"""Makes Spark read only those columns of the data source that a query needs, and without rows.

Spark tells a data source in Python nothing of the columns that a query needs, and makes rows of its
Arrow batches. KafkaSegments.java, beside this module, is a data source of the same name for Java,
which is told, and reads packed batches by columns; Spark prefers it. It needs the data source in
Python, which plans and reads.

Spark brings a Java compiler, Janino, for the code that it generates. So a session compiles the
files against the very Spark that will run them, in half a second, and keeps the jar in the user's
cache. Neither the wheel nor the machine needs a Java compiler. Where they cannot be compiled or the
jar cannot be kept, Spark reads all columns, by rows, and a line in the log says why.
"""

import io
import logging
import zipfile
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Final

import pyspark
from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.sql import SparkSession

from broker_lite.pipeline.spark.user_cache import publish, user_cache

PRUNING: Final = "spark.broker_lite.pruning"
"""The setting of session() that turns it off: `false`."""

# each needs the ones before it
_SOURCES: Final = tuple(map(Path(__file__).with_name, ("PackedBatches.java", "KafkaSegments.java")))
_CLASS: Final = "brokerlite.spark.KafkaSegments"
_SERVICE: Final = "META-INF/services/org.apache.spark.sql.sources.DataSourceRegister"
_EPOCH: Final = (1980, 1, 1, 0, 0, 0)  # the first date of a zip file, so that equal jars are equal
_JAR_MODE: Final = 0o644

logger = logging.getLogger("broker_lite.pipeline")


def pruning_jar(pyspark_version: str = pyspark.__version__) -> Path:
    """Return the path of the jar in the user's cache; it need not exist."""
    digest = sha256(b"".join(source.read_bytes() for source in _SOURCES)).hexdigest()[:12]
    return user_cache(f"spark-pruning-{pyspark_version}-{digest}.jar")


def jars_with_pruning(given: str) -> str:
    """Return spark.jars with the jar, if it was made before.

    Args:
        given: paths with commas; may be empty.
    """
    jar = pruning_jar()
    return ",".join([*filter(None, [given]), *([str(jar)] if jar.exists() else [])])


def is_wanted(settings: Mapping[str, str]) -> bool:
    """Tell whether the settings of a session allow it."""
    return settings.get(PRUNING, "true").lower() != "false"


def prune_columns(spark: SparkSession) -> bool:
    """Make a running session read only the needed columns; session() calls it.

    The first call on a machine compiles the jar. It is added to the session as by `ADD JAR`, unless
    the session was started with it.

    Args:
        spark: a session, but not one of Spark Connect.

    Returns:
        False if it reads all columns, by rows, for the reason that is in the log.
    """
    if _is_there(spark):
        return True
    jar = pruning_jar()
    try:
        if not jar.exists():
            publish(jar, _compiled(spark), mode=_JAR_MODE)
    except (Py4JJavaError, OSError) as error:
        reason = str(getattr(error, "java_exception", error)).partition("\n")[0]
        logger.warning("Spark reads all columns of kafka_segments, by rows reason=%s", reason)
        return False
    spark.sql(f"ADD JAR '{jar}'")
    return True


def _is_there(spark: SparkSession) -> bool:
    jvm = spark.sparkContext._jvm
    assert jvm is not None, "a session has a Java"
    return bool(jvm.org.apache.spark.util.Utils.classIsLoadable(_CLASS))


def _compiled(spark: SparkSession) -> bytes:
    """Compile the data source; return its jar.

    Raises:
        Py4JJavaError: it does not compile against this Spark.
    """
    jvm = spark.sparkContext._jvm
    assert jvm is not None
    classes: dict[str, bytes] = {}
    loader = None
    for source in _SOURCES:
        compiler = jvm.org.codehaus.janino.SimpleCompiler()
        if loader is not None:
            compiler.setParentClassLoader(loader)
        compiler.cook(source.read_text("utf-8"))
        loader = compiler.getClassLoader()
        classes.update(compiler.getBytecodes())
    jar = io.BytesIO()
    with zipfile.ZipFile(jar, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr(zipfile.ZipInfo(_SERVICE, _EPOCH), f"{_CLASS}\n")
        for name in sorted(classes):
            path = f"{name.replace('.', '/')}.class"
            file.writestr(zipfile.ZipInfo(path, _EPOCH), bytes(classes[name]))
    return jar.getvalue()
