"""The records of a topic, out of it and into it, as lines of JSON."""

from typing import Annotated, Final

import msgspec
from anyio import to_thread
from anyio.lowlevel import checkpoint

from broker_lite.errors import SettingsError
from broker_lite.handler.uncollected import uncollected
from broker_lite.log.log import Log
from broker_lite.log.timestamps import offset_for_timestamp
from broker_lite.seed.writer import SeedWriter
from broker_lite.testbench.control.resource import Call, Raw, Resource
from broker_lite.testbench.control.routes.topics import find_topic
from broker_lite.testbench.errors import ControlError
from broker_lite.testbench.record_lines import (
    LINES_BYTES_MAX,
    BodyLines,
    Wanted,
    parse_lines,
    read_lines,
)
from broker_lite.testbench.record_writing import BATCH_BYTES_MAX, check_leaders, write_in_turns
from broker_lite.testbench.turns import Turns

LINES: Final = "application/x-ndjson"
_BAD_REQUEST: Final = 400
_NOT_FOUND: Final = 404
_RecordLimit = Annotated[int, msgspec.Meta(ge=1, le=100_000)]


class RecordsQuery(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Which records of a topic are read.

    Attributes:
        partition: the only one; all of them if it is left out.
        from_offset: where to begin; at the log start if it is left out.
        from_ms: begin at the first record that is not older, instead; in ms since 1970.
        limit: at most so many lines, up to 100,000; they also end after 32 MB.
        read_committed: without the records of open and aborted transactions.
        offsets: whether each line tells the record's offset, too, which seed files do not have.
    """

    partition: int | None = None
    from_offset: int | None = msgspec.field(default=None, name="from")
    from_ms: Annotated[int, msgspec.Meta(ge=0)] | None = None
    limit: _RecordLimit = 1000
    read_committed: bool = False
    offsets: bool = False


class Written(msgspec.Struct, kw_only=True):
    """What was written.

    Attributes:
        records: how many.
        end_offsets: of all partitions, after that.
    """

    records: int
    end_offsets: dict[str, int]


async def read_records(call: Call) -> Raw:
    """Read records as JSON lines, in the form that a seed file has."""
    asked, cluster = call.query, call.bench.life.cluster
    assert isinstance(asked, RecordsQuery)
    topic = find_topic(call.bench.life, call.path["topic"])
    if asked.partition is None:
        if asked.from_offset is not None or asked.from_ms is not None:
            raise ControlError(_BAD_REQUEST, "a place to begin at needs a partition", "?from")
        partitions = range(topic.partition_count)
    elif 0 <= asked.partition < topic.partition_count:
        partitions = range(asked.partition, asked.partition + 1)
    else:
        has = f"topic {topic.name} has {topic.partition_count} partitions, not {asked.partition}"
        raise ControlError(_NOT_FOUND, has)
    lines: list[bytes] = []
    size_bytes = 0
    for index in partitions:
        left = asked.limit - len(lines)
        if left == 0 or size_bytes >= LINES_BYTES_MAX:
            break
        log = cluster.log(topic.name, index)
        start = await _start(log, asked)
        more = await read_lines(log, Wanted(start, left, asked.read_committed, asked.offsets))
        lines += more
        size_bytes += sum(map(len, more))
        await checkpoint()
    return Raw(LINES, b"".join(lines))


async def _start(log: Log, asked: RecordsQuery) -> int:
    """Return the offset to begin at.

    Raises:
        ControlError: 400, it is not in the log.
    """
    from_offset = asked.from_offset
    if asked.from_ms is not None:
        found = await to_thread.run_sync(offset_for_timestamp, log, asked.from_ms)
        return log.log_end_offset if found is None else found.offset
    if from_offset is None:
        return log.log_start_offset
    if not log.log_start_offset <= from_offset <= log.log_end_offset:
        has = f"offset {from_offset} is not in {log.log_start_offset} to {log.log_end_offset}"
        raise ControlError(_BAD_REQUEST, has, "?from")
    return from_offset


async def write_records(call: Call) -> Written:
    """Write records that come as JSON lines, in the form that a seed file has.

    A list of such objects will do, too. All lines are read before the first is written. A record
    that the topic refuses ends the writing where it is; those before it may have been written.
    """
    body, name, life = call.body, call.path["topic"], call.bench.life
    assert isinstance(body, bytes)
    check_leaders(life, name)
    lines = BodyLines(body)
    writer = SeedWriter(
        life.cluster, life.clock, None, lines.error, batch_bytes_max=BATCH_BYTES_MAX
    )
    try:
        with uncollected():
            await write_in_turns(writer, await parse_lines(lines, name))
    except SettingsError as error:
        text, at = str(error), str(error).partition(":")[0]
        raise ControlError(_BAD_REQUEST, text, at) from error
    ends, turns = dict[str, int](), Turns()
    for index in range(find_topic(life, name).partition_count):
        ends[str(index)] = life.cluster.log(name, index).log_end_offset
        await turns.next()
    return Written(records=writer.record_count, end_offsets=ends)


RESOURCES = (
    Resource("GET", "/v1/topics/{topic}/records", read_records, answer=Raw, query=RecordsQuery),
    Resource("POST", "/v1/topics/{topic}/records", write_records, answer=Written, body=bytes),
)
