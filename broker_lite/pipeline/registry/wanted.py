"""Asks for the schema of a result, once, where a query is made: workers get it with the plan."""

from dataclasses import replace

from broker_lite.pipeline.registry.column_decoder import result_of
from broker_lite.pipeline.registry.errors import RegistryError
from broker_lite.pipeline.registry.settings import ColumnFormat
from broker_lite.pipeline.registry.sources.source import SchemaSource, source_of


class NoResultSchema(ValueError):
    """The schema of a result cannot be had; the text is one line with the reason."""


def with_schema(wanted: ColumnFormat, source: SchemaSource | None = None) -> ColumnFormat:
    """Return the format of a column with the schema of its values.

    Args:
        wanted: names a schema by text, id or subject.
        source: where to ask; the default is the one of wanted.registry.

    Raises:
        NoResultSchema: it cannot be had, or no column can be made by it.
        MissingExtra: a library is not installed.
    """
    asked = source or source_of(wanted.registry)
    try:
        if wanted.schema is not None:
            found = wanted
        elif wanted.schema_id is not None:
            what = f"schema {wanted.schema_id}: "
            found = replace(wanted, schema=asked.by_id(wanted.schema_id))
        elif wanted.subject is not None:
            what = f"the latest schema of the subject {wanted.subject}: "
            found = replace(wanted, schema=asked.latest(wanted.subject))
        else:
            raise NoResultSchema("a schema of the result is needed: its text, its id or a subject")
    except RegistryError as error:
        raise NoResultSchema(f"{what}{error}") from error
    try:
        result_of(found)
    except RegistryError as error:
        raise NoResultSchema(str(error)) from error
    return found
