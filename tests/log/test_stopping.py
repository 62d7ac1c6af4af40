"""S-47: a stop is clean when every log could be put down and what changed is on disk."""

import os
from pathlib import Path

import pytest

from broker_lite import errors
from broker_lite.log.stopping import make_durable, put_down
from tests.log.logs import append, open_log


def test_s47_only_logs_that_changed_are_flushed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    used, unused = open_log(tmp_path / "used"), open_log(tmp_path / "unused")
    append(used)
    assert put_down([used, unused]) == [used, unused]
    make_durable([used, unused])
    assert (used.recovery_point, unused.recovery_point) == (1, 0)

    def fail(_: int) -> None:
        raise OSError("the disk is gone")

    monkeypatch.setattr(os, "fsync", fail)
    make_durable([used, unused])
    append(used)
    with pytest.raises(errors.KafkaStorageError):
        make_durable([used, unused])
