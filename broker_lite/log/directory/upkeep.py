"""What all logs in use need from time to time, besides checkpoints and retention."""

from broker_lite.log.directory.manager import LogManager
from broker_lite.log.directory.stopping import flush_each


def expire_producers(logs: LogManager, now_ms: int) -> None:
    """Forget the producers that wrote nothing for long.

    See: V-65 (ProducerStateManager.removeExpiredProducers).
    """
    for log in logs.loaded_logs():
        log.producer_state.expire(now_ms, log.config.producer_id_expiration_ms)


def flush_due(logs: LogManager, now_ms: int) -> None:
    """Flush the logs whose flush.ms is over; may run in a worker thread.

    Raises:
        KafkaStorageError: of some log, data may not be on disk; the others were flushed.

    See: S-32 (LogManager.flushDirtyLogs).
    """
    loaded = logs.loaded_logs()
    due = [log for log in loaded if now_ms - log.flusher.last_flush_ms >= log.config.flush_ms]
    flush_each((log, log.log_end_offset) for log in due)
    for log in due:
        log.flusher.last_flush_ms = now_ms
