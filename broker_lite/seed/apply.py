"""Applies the seed settings to an open cluster, before its first client."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from anyio.lowlevel import checkpoint

if TYPE_CHECKING:
    from broker_lite.control.clock import Clock
    from broker_lite.control.cluster.cluster import Cluster
    from broker_lite.seed.marker import Marker

# Bytes to read, in some 5 ms, between two turns of the event loop, which handles signals.
_TURN_BYTES: Final = 64 * 1024


async def apply(cluster: "Cluster", clock: "Clock", is_stopping: Callable[[], bool]) -> bool:
    """Make the users, topics and records that the cluster's settings ask for.

    Existing topics are left alone, and records only go to empty topics. So a second start on the
    same data does nothing.

    Args:
        cluster: a registered one.
        clock: of the process.
        is_stopping: called every few milliseconds; a stopped seed counts as not begun.

    Returns:
        Whether it was completed.

    Raises:
        SettingsError: a topic, a file or a line is wrong. Topics may have been created by then; the
            next start removes all records of the seed.
        KafkaStorageError: something cannot be written.
    """
    # imported only if needed, because most starts have no seed
    from broker_lite.seed.marker import Marker, undo_unfinished_seed

    settings = cluster.settings
    marker = Marker(cluster.logs.data_dir)
    undo_unfinished_seed(cluster, marker)
    if settings.broker_lite_security.startswith("sasl"):
        from broker_lite.seed.users import write_users
        from broker_lite.settings.sources.one_word import users_of

        if not await write_users(cluster, users_of(settings).values(), is_stopping):
            return False
    if settings.broker_lite_topics or settings.broker_lite_topics_file:
        from broker_lite.seed.topics import create_topics, read_topics

        create_topics(cluster, read_topics(settings))
    if settings.broker_lite_seed_file:
        return await _write_records(cluster, clock, marker, is_stopping)
    return True


async def _write_records(
    cluster: "Cluster", clock: "Clock", marker: "Marker", is_stopping: Callable[[], bool]
) -> bool:
    import logging

    from broker_lite.seed.formats import read_records
    from broker_lite.seed.lines import Lines
    from broker_lite.seed.progress import Progress
    from broker_lite.seed.writer import SeedWriter

    lines = Lines(cluster.settings.broker_lite_seed_file)
    writer = SeedWriter(cluster, clock, marker, lines.error)
    progress = Progress(lines, clock)
    turn_end_bytes = 0
    try:
        for record in read_records(lines):
            writer.add(record)
            if lines.bytes_read >= turn_end_bytes:
                turn_end_bytes = lines.bytes_read + _TURN_BYTES
                progress.tell(writer.record_count)
                await checkpoint()
                if is_stopping():
                    return False
        writer.flush()
    finally:
        progress.end()
    marker.remove()
    logging.getLogger("broker_lite.seed").info(
        "seeded file=%s records=%d topics=%d elapsed_ms=%d",
        lines.path,
        writer.record_count,
        writer.topic_count,
        progress.elapsed_ms,
    )
    return True
