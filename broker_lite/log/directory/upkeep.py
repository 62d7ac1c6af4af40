"""Periodic work for all loaded logs, besides checkpoints and retention."""

from broker_lite.log.directory.manager import LogManager
from broker_lite.log.directory.stopping import flush_each


def expire_producers(logs: LogManager, now_ms: int) -> None:
    """Forget the producers that have not written for producer.id.expiration.ms.

    See: V-65 (ProducerStateManager.removeExpiredProducers).
    """
    for log in logs.loaded_logs():
        log.producer_state.expire(now_ms, log.config.producer_id_expiration_ms)


def flush_due(logs: LogManager, now_ms: int) -> None:
    """Flush the logs whose flush.ms has passed since the last flush; may run in a worker thread.

    Raises:
        KafkaStorageError: a log could not be flushed, so its data may not be on disk. All others
            were flushed.

    See: S-32 (LogManager.flushDirtyLogs).
    """
    loaded = logs.loaded_logs()
    due = [log for log in loaded if now_ms - log.flusher.last_flush_ms >= log.config.flush_ms]
    flush_each((log, log.log_end_offset) for log in due)
    for log in due:
        log.flusher.last_flush_ms = now_ms
