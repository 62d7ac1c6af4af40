"""The bounds of canned runs: how large a batch gets, and how many batches a run has.

The broker makes a run of record batches once and repeats it. Here it is only counted, so that a
topic cannot be configured with a run that would be too large.
"""

from math import isnan
from typing import Final

from broker_lite.errors import InvalidConfig
from broker_lite.settings.configs.topic_attributes import TopicAttributes

BATCH_BYTES_MAX: Final = 1_048_588
"""The default of max.message.bytes."""
RUN_BYTES_MAX: Final = 8 * 1024 * 1024
RUN_BATCHES_MAX: Final = 4096
KEY_BYTES: Final = 16
_HEADER_BYTES: Final = 61
_RECORD_OVERHEAD_MAX: Final = 15
"""Length, attributes, deltas of time and offset, lengths of key and value, number of headers."""


def batch_bytes_max(batch_records: int, record_bytes: int, keys: int) -> int:
    """Return how large a batch is at most before it is compressed."""
    record = record_bytes + _RECORD_OVERHEAD_MAX + (KEY_BYTES if keys else 0)
    return _HEADER_BYTES + batch_records * record


def run_batches(batch_records: int, record_bytes: int, keys: int) -> int:
    """Return how many whole batches a run has."""
    fitting = RUN_BYTES_MAX // batch_bytes_max(batch_records, record_bytes, keys)
    return max(1, min(fitting, RUN_BATCHES_MAX))


def check_load(config: TopicAttributes) -> None:
    """Check that the settings of a synthetic topic fit together; of a stored one nothing.

    Raises:
        InvalidConfig: a batch would be too large, a run has fewer records than keys, or the share
            of random bytes is no number.
    """
    if config.broker_lite_load_mode != "synthetic":
        return
    if isnan(config.broker_lite_load_random):  # which no bound refuses
        raise InvalidConfig("broker.lite.load.random (NaN) is not a number")
    records, keys = config.broker_lite_load_batch_records, config.broker_lite_load_keys
    shape = records, config.broker_lite_load_record_bytes, keys
    size_bytes = batch_bytes_max(*shape)
    if size_bytes > BATCH_BYTES_MAX:
        raise InvalidConfig(
            f"broker.lite.load.batch.records ({records}) of broker.lite.load.record.bytes "
            f"({shape[1]}) make a batch of up to {size_bytes} bytes; at most {BATCH_BYTES_MAX} are "
            "allowed"
        )
    run_records = run_batches(*shape) * records
    if keys > run_records:
        raise InvalidConfig(
            f"broker.lite.load.keys ({keys}) are more than the {run_records} records that are "
            "repeated; take smaller records or fewer keys"
        )
