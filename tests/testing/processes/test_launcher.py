"""The launcher's side of its socket; forks are tested from the other side, in test_forks."""

import json
import os
import socket
from pathlib import Path

import pytest

from broker_lite.testing.processes.launcher import Launcher, temporary_place


def test_requests_may_come_in_parts_and_strangers_are_let_be(tmp_path: Path) -> None:
    ours, theirs = socket.socketpair()
    root = tmp_path / "root"
    root.mkdir()
    with ours, theirs:
        for part in (b'{"number": 1, "do": "kill", ', b'"pid": %d}\n' % os.getpid()):
            ours.sendall(part)
        ours.shutdown(socket.SHUT_WR)
        one = Launcher(theirs, root)
        assert one.run() is None
        with ours.makefile() as answers:
            assert json.loads(answers.readline()) == {"number": 0, "root": str(root)}
            assert json.loads(answers.readline()) == {"number": 1}
    one.end()
    assert not root.exists()


def test_who_asks_and_goes_gets_no_answer(tmp_path: Path) -> None:
    ours, theirs = socket.socketpair()
    with theirs:
        ours.sendall(b'{"number": 1, "do": "wait", "pid": 1}\n')
        ours.close()
        with pytest.raises(ConnectionError):
            Launcher(theirs, tmp_path).run()


def test_temporary_data_is_in_memory_where_there_is_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TMPDIR", raising=False)
    assert temporary_place(str(tmp_path), 1) == str(tmp_path)
    assert temporary_place(str(tmp_path), 1 << 62) is None
    assert temporary_place(str(tmp_path / "missing"), 1) is None
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    assert temporary_place(str(tmp_path), 1) is None
