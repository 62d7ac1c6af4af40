"""What old clients are answered differently: records of magic 0 and 1, and no zstd.

Only a broker that stands in for a release before 4.0 does this. Converted records are no longer a
range of a file that the kernel sends: they are read, rewritten record by record in a worker thread,
and kept in memory until they are sent, so such a fetch costs many times what a newer one does. The
limits of the request bound what is kept (F-62).

Rule: F-60, F-63 (KafkaApis.maybeConvertFetchedData).
See: F-61, F-62.
"""

from functools import partial
from typing import TYPE_CHECKING, Final

from anyio import to_thread

from broker_lite.errors import BrokerError, ErrorCode
from broker_lite.handler.context import CloseConnection
from broker_lite.handler.fetch.read import PartitionRead
from broker_lite.log.converted_slices import convert_slice
from broker_lite.log.files.open_file import FileSlice
from broker_lite.record.codecs.compression import Codec
from broker_lite.record.codecs.decompressed import Bounds
from broker_lite.record.stopping import Stop, WorkStopped
from broker_lite.wire.fetch import FetchedPartition

if TYPE_CHECKING:
    from broker_lite.control.cluster import Cluster
    from broker_lite.log.validate.validated import ValidationConfig

ZSTD_FROM: Final = 10
_MAGIC_1_FROM: Final = 2
_MAGIC_2_FROM: Final = 4


async def for_old_client(
    cluster: "Cluster", version: int, reads: list[PartitionRead], stop: Stop
) -> list[PartitionRead]:
    """Give the answers of a Fetch below version 10 as a release before 4.0 does.

    Args:
        cluster: whose topics were read.
        version: of the request, 0 to 9.
        reads: what a client of today would be answered.
        stop: asked for each record.

    Raises:
        CloseConnection: by stop.
    """
    return [await _convert(cluster, version, read, stop) for read in reads]


async def _convert(
    cluster: "Cluster", version: int, read: PartitionRead, stop: Stop
) -> PartitionRead:
    config = _topic_config(cluster, read)
    if config is None:
        return read
    if config.codec == Codec.ZSTD:
        # whatever was read, also nothing or an error
        return _refused(read, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE)
    records = read.answer.records
    if version >= _MAGIC_2_FROM or not isinstance(records, FileSlice):
        return read
    work = partial(
        _converted,
        records,
        1 if version >= _MAGIC_1_FROM else 0,
        read.partition.fetch_offset,
        Bounds(config.decompressed_bytes_max, stop=stop),
    )
    outcome = await to_thread.run_sync(work)
    if isinstance(outcome, WorkStopped):
        raise CloseConnection("the conversion of records was stopped")
    if isinstance(outcome, ErrorCode):
        return _refused(read, outcome)
    return read._replace(answer=read.answer._replace(records=outcome))


def _converted(
    records: FileSlice, magic: int, first_offset: int, bounds: Bounds
) -> bytes | ErrorCode | WorkStopped:
    try:
        return convert_slice(records, magic, first_offset=first_offset, bounds=bounds)
    except WorkStopped as stopped:
        return stopped.with_traceback(None)
    except BrokerError as error:
        # as a code: what is raised in a worker thread stays there with all that was decompressed
        return error.code


def _topic_config(cluster: "Cluster", read: PartitionRead) -> "ValidationConfig | None":
    """The settings of a partition's topic, None when there is no such partition."""
    partition = read.partition
    topic = cluster.topics.get(str(partition.topic))
    if topic is None or not 0 <= partition.index < topic.partition_count:
        return None
    return cluster.validation_config(topic)


def _refused(read: PartitionRead, code: ErrorCode) -> PartitionRead:
    return read._replace(answer=FetchedPartition(read.partition.index, code, records=None))
