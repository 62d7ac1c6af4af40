"""One line for what the readers of the pipeline say about a log."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from broker_lite.errors import KafkaStorageError, SettingsError
from broker_lite.pipeline.files.file_io import UnknownFileSystem
from broker_lite.pipeline.files.layout import LayoutError
from broker_lite.pipeline.read.corruption import CorruptLog
from broker_lite.pipeline.read.option_values import OptionError
from broker_lite.pipeline.read.ranges import PlanError

WRONG_USE: Final = (LayoutError, OptionError, PlanError, UnknownFileSystem)
"""What other arguments mend."""


@contextmanager
def reading_told() -> Iterator[None]:
    """Turn what other arguments mend into SettingsError, and damage into KafkaStorageError."""
    try:
        yield
    except CorruptLog as error:
        raise KafkaStorageError(str(error)) from error
    except WRONG_USE as error:
        raise SettingsError(str(error)) from error
