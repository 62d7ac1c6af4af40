"""S-32, V-65: what logs in use need from time to time."""

from pathlib import Path

from broker_lite.log.config import LogConfig
from broker_lite.log.directory.upkeep import expire_producers, flush_due
from tests.log.directory.test_retention import ID, opened
from tests.log.logs import FOREVER_MS, NOW_MS, T0, append


def test_s32_flush_ms_and_v65_expiry(tmp_path: Path) -> None:
    manager = opened(tmp_path)
    config = LogConfig(flush_ms=1000, producer_id_expiration_ms=5000, segment_ms=FOREVER_MS)
    manager.create("t", 0, ID, config)
    log = manager.get("t", 0)
    append(log, T0, producer=(5, 0, 0))
    for elapsed_ms, point in ((999, 0), (1000, 1)):
        flush_due(manager, NOW_MS + elapsed_ms)
        assert log.flusher.recovery_point == point
    expire_producers(manager, T0 + 4999)
    assert len(log.producer_state) == 1
    expire_producers(manager, T0 + 5000)
    assert len(log.producer_state) == 0
    manager.close()
