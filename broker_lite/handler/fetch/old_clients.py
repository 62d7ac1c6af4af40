"""Change the answers for old clients: records of magic 0 and 1, and no zstd.

Only a broker that emulates a release before 4.0 does this. Converted records are no longer a range
of a file that the kernel sends: they are read, rewritten record by record in a worker thread, and
kept in memory until they are sent. So such a fetch costs many times as much as one of a newer
client. The limits of the request bound the memory (F-62).

Rule: F-60, F-63 (KafkaApis.maybeConvertFetchedData).
See: F-61, F-62.
"""

from functools import partial
from typing import TYPE_CHECKING, Final

from anyio import to_thread

from broker_lite.errors import BrokerError, ErrorCode
from broker_lite.handler.context import CloseConnection
from broker_lite.handler.fetch.partition import FetchPartition
from broker_lite.handler.fetch.read import PartitionRead
from broker_lite.log.canned.run import CannedSlice
from broker_lite.log.converted_slices import convert_slice
from broker_lite.log.files.open_file import FileSlice
from broker_lite.record.codecs.compression import Codec
from broker_lite.record.codecs.decompressed import Bounds
from broker_lite.record.stopping import Stop, WorkStopped

if TYPE_CHECKING:
    from broker_lite.control.cluster.cluster import Cluster
    from broker_lite.log.validate.validated import ValidationConfig

ZSTD_FROM: Final = 10
_MAGIC_1_FROM: Final = 2
MAGIC_2_FROM: Final = 4


async def for_old_client(
    cluster: "Cluster", version: int, answers: list[PartitionRead], stop: Stop
) -> None:
    """Change the answers of a Fetch below version 10 to those of a release before 4.0.

    Args:
        cluster: the cluster whose topics were read.
        version: of the request, 0 to 9.
        answers: the answers that a client of today would get.
        stop: checked for each record.

    Raises:
        CloseConnection: `stop` was set.
    """
    for answer in answers:
        await _convert(cluster, version, answer, stop)


async def _convert(cluster: "Cluster", version: int, answer: PartitionRead, stop: Stop) -> None:
    config = _topic_config(cluster, answer.partition)
    if config is None:
        return
    if config.codec == Codec.ZSTD:
        # The error replaces any answer, also an empty one or another error.
        _refuse(answer, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE)
        return
    records = answer.records
    if isinstance(records, CannedSlice):
        _refuse_synthetic(answer, version, records.run.shape.codec)
    if version >= MAGIC_2_FROM or not isinstance(records, FileSlice):
        return
    work = partial(
        _converted,
        records,
        1 if version >= _MAGIC_1_FROM else 0,
        answer.partition.fetch_offset,
        Bounds(config.decompressed_bytes_max, stop=stop),
    )
    outcome = await to_thread.run_sync(work)
    if isinstance(outcome, WorkStopped):
        raise CloseConnection("the conversion of records was stopped")
    if isinstance(outcome, ErrorCode):
        _refuse(answer, outcome)
    else:
        answer.records = outcome


def _refuse_synthetic(answer: PartitionRead, version: int, codec: Codec) -> None:
    """Refuse synthetic records that the client cannot read: they are never converted."""
    if version < MAGIC_2_FROM:
        _refuse(answer, ErrorCode.UNSUPPORTED_VERSION)
    elif codec is Codec.ZSTD:
        _refuse(answer, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE)


def _converted(
    records: FileSlice, magic: int, first_offset: int, bounds: Bounds
) -> bytes | ErrorCode | WorkStopped:
    try:
        return convert_slice(records, magic, first_offset=first_offset, bounds=bounds)
    except WorkStopped as stopped:
        return stopped.with_traceback(None)
    except BrokerError as error:
        # Return the code, because a worker thread would keep the error with all decompressed bytes.
        return error.code


def _topic_config(cluster: "Cluster", partition: FetchPartition) -> "ValidationConfig | None":
    """Return the settings of a partition's topic, None if there is no such partition."""
    topic = cluster.topics.get(str(partition.topic))
    if topic is None or not 0 <= partition.index < topic.partition_count:
        return None
    return cluster.validation_config(topic)


def _refuse(answer: PartitionRead, code: ErrorCode) -> None:
    """Answer with an error, and with nothing else."""
    answer.error_code = code
    answer.high_watermark = answer.last_stable_offset = answer.log_start_offset = -1
    answer.aborted_transactions = answer.records = None
    answer.diverging_epoch = answer.current_leader = None
