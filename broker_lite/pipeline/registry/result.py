"""What a format makes of the schema of a result: its type, and a reader for each writer."""

from collections.abc import Callable
from typing import Any, Protocol

import pyarrow as pa

from broker_lite.pipeline.registry.settings import StoredSchema

Value = Any
"""A Python value that Arrow takes for the type of the column."""

ReadMessage = Callable[[bytes], Value]
"""Takes a whole message with its frame; raises BadMessage."""


class Result(Protocol):
    """The schema of a column of values.

    Attributes:
        type: of the column.
    """

    type: pa.DataType

    def reader_of(self, writer: StoredSchema) -> ReadMessage:
        """Return what reads messages that were written by a schema.

        Raises:
            UnusableSchema: they cannot be read by the result's schema.
        """
        ...
