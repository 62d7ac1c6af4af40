"""What a log is made of, as handed from loading to the log."""

from typing import NamedTuple

from broker_lite.log.config import LogConfig
from broker_lite.log.epoch_file import EpochFile
from broker_lite.log.files.leader_epochs import LeaderEpochCache
from broker_lite.log.producers.state import ProducerStateManager
from broker_lite.log.segments import Segments


class LogParts(NamedTuple):
    """What loading found of a partition.

    Attributes:
        epoch_file: the file of `epochs`.
        producer_state: as of the log end offset.
        loaded_ms: the time of loading.
    """

    topic: str
    partition: int
    config: LogConfig
    segments: Segments
    epochs: LeaderEpochCache
    epoch_file: EpochFile
    producer_state: ProducerStateManager
    log_start_offset: int
    log_end_offset: int
    recovery_point: int
    loaded_ms: int
