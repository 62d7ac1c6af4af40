"""Column expressions for messages with a schema of a registry, or of a folder of schemas.

    from_avro_registry("value", "http://localhost:8081", subject="orders-value")

is a column of structs with two fields: `value`, as the schema says, and `error`, a text. One of
them is null, or both where the message is null. A message that cannot be read makes no query fail.

The schema of the result is asked for once, here, on the driver. The schemas by which messages were
written are asked for by the workers, when they first meet them.
"""

import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql import functions as sf
from pyspark.sql.pandas.functions import arrow_udf
from pyspark.sql.pandas.types import from_arrow_type
from pyspark.sql.types import StringType, StructType

from broker_lite.pipeline.registry.column_decoder import decoder_of
from broker_lite.pipeline.registry.settings import (
    RETRIES,
    TIMEOUT_MS,
    ColumnFormat,
    Format,
    RegistrySettings,
    StoredSchema,
    checked_location,
    user_info,
)
from broker_lite.pipeline.registry.wanted import with_schema


def from_avro_registry(
    data: Column | str,
    registry: str,
    *,
    schema: str | None = None,
    schema_id: int | None = None,
    subject: str | None = None,
    credentials: str | None = None,
    timeout_ms: int = TIMEOUT_MS,
    retries: int = RETRIES,
) -> Column:
    """Read Avro messages; exactly one of schema, schema_id and subject names the result's schema.

    Args:
        data: a binary column, or its name.
        registry: http or https URL of a registry, or a folder that the workers see, too.
        schema: the JSON of a schema.
        schema_id: its id in the registry.
        subject: whose latest schema it is.
        credentials: USER:PASSWORD; None takes SCHEMA_REGISTRY_BASIC_AUTH_USER_INFO.
        timeout_ms: of a request.
        retries: further requests after one that failed for a reason that may pass.

    Raises:
        ValueError: an argument is wrong.
        NoResultSchema: the schema of the result cannot be had, or no column can be made by it.
        MissingExtra: fastavro is not installed.
    """
    settings = RegistrySettings(
        location=checked_location(registry),
        user_info=user_info(credentials),
        timeout_ms=timeout_ms,
        retries=retries,
    )
    return _decoded(data, _wanted(Format.AVRO, settings, schema, schema_id, subject, None))


def from_protobuf_registry(
    data: Column | str,
    registry: str,
    *,
    schema: str | None = None,
    schema_id: int | None = None,
    subject: str | None = None,
    message: str | None = None,
    credentials: str | None = None,
    timeout_ms: int = TIMEOUT_MS,
    retries: int = RETRIES,
) -> Column:
    """Read Protobuf messages; exactly one of schema, schema_id and subject names the schema.

    Args:
        data: a binary column, or its name.
        registry: http or https URL of a registry, or a folder that the workers see, too.
        schema: the text of a .proto.
        schema_id: its id in the registry.
        subject: whose latest schema it is.
        message: full name of a message of the schema; None takes its first.
        credentials: USER:PASSWORD; None takes SCHEMA_REGISTRY_BASIC_AUTH_USER_INFO.
        timeout_ms: of a request.
        retries: further requests after one that failed for a reason that may pass.

    Raises:
        ValueError: an argument is wrong.
        NoResultSchema: the schema of the result cannot be had, or no column can be made by it.
        MissingExtra: protobuf or grpcio-tools are not installed.
    """
    settings = RegistrySettings(
        location=checked_location(registry),
        user_info=user_info(credentials),
        timeout_ms=timeout_ms,
        retries=retries,
    )
    return _decoded(data, _wanted(Format.PROTOBUF, settings, schema, schema_id, subject, message))


def _wanted(
    form: Format,
    settings: RegistrySettings,
    schema: str | None,
    schema_id: int | None,
    subject: str | None,
    message: str | None,
) -> ColumnFormat:
    if sum(each is not None for each in (schema, schema_id, subject)) != 1:
        raise ValueError("schema, schema_id, subject: exactly one of them is needed")
    wanted = ColumnFormat(
        format=form,
        registry=settings,
        schema=None if schema is None else StoredSchema(form, schema),
        schema_id=schema_id,
        subject=subject,
        message=message,
    )
    return with_schema(wanted)


def _decoded(data: Column | str, wanted: ColumnFormat) -> Column:
    kind = from_arrow_type(decoder_of(wanted).result.type)
    returned = StructType().add("value", kind).add("error", StringType())

    def decode(messages: pa.Array) -> pa.Array:
        values, errors = decoder_of(wanted).decode(messages)
        return pa.StructArray.from_arrays([values, errors], ["value", "error"])

    column = sf.col(data) if isinstance(data, str) else data
    decoded: Column = arrow_udf(decode, returned)(  # type: ignore[call-overload]
        column.cast("binary")
    )
    return decoded
