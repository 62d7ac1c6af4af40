"""S-60: the leader epochs of a partition that is loaded, and what is logged if they are lost."""

from pathlib import Path

import pytest

from tests.log.logs import NOW_MS, append, open_log


def test_a_damaged_epoch_file_is_replaced(tmp_path: Path) -> None:
    """S-60: the epochs of recovered batches come from the batches."""
    log = open_log(tmp_path)
    append(log)
    log.become_leader(3)
    append(log)
    log.close()
    (tmp_path / "leader-epoch-checkpoint").write_bytes(b"7\n")
    again = open_log(tmp_path, clean=False)
    assert again.leader_epoch == 3
    assert (tmp_path / "leader-epoch-checkpoint").read_bytes() == b"0\n2\n0 0\n3 1\n"


@pytest.mark.parametrize("text", [None, ""])
@pytest.mark.parametrize(
    ("is_clean", "recovery_point", "is_told"),
    [(True, 0, True), (False, 2, True), (False, 0, False)],
)
def test_s60_lost_leader_epochs_are_told_unless_recovery_finds_them(
    tmp_path: Path,
    text: str | None,
    is_clean: bool,
    recovery_point: int,
    is_told: bool,
    caplog: pytest.LogCaptureFixture,
) -> None:
    log = open_log(tmp_path)
    append(log)
    log.roll(NOW_MS)
    append(log)
    append(log)
    log.close()
    path = tmp_path / "leader-epoch-checkpoint"
    path.unlink()
    if text is not None:
        path.write_text(text)
    again = open_log(tmp_path, clean=is_clean, recovery_point=recovery_point)
    assert again.log_end_offset == 3
    assert ["leader epochs dropped" in line for line in caplog.messages] == [True] * is_told
