"""Each named place is really passed, and no call that changes a file is without a name."""

import os
from collections import Counter
from pathlib import Path

from tests.crash.calls import Call, watch
from tests.crash.faulty import run
from tests.crash.points import OTHER, listed, name_of
from tests.crash.scene import Scene


class Mirror:
    """Keeps in memory what the calls make of a directory.

    Attributes:
        names: how often each named place was passed.
        files: what is in each file, by path.
        directories: which ones there are.
    """

    def __init__(self) -> None:
        self.names: Counter[str] = Counter()
        self.files: dict[str, bytearray] = {}
        self.directories: set[str] = set()

    def before(self, call: Call) -> int | None:
        self.names[name_of(call)] += 1
        return None

    def after(self, call: Call, count: int) -> None:
        if call.kind == "create":
            self.files[call.path] = bytearray()
        elif call.kind == "write":
            self._write(self.files[call.path], call, count)
        elif call.kind == "cut":
            del self.files[call.path][call.number :]
        elif call.kind == "remove":
            del self.files[call.path]
        elif call.kind == "mkdir":
            self.directories.add(call.path)
        elif call.kind == "rmdir":
            self.directories.remove(call.path)
        elif call.kind == "rename":
            self._rename(call)

    def _write(self, content: bytearray, call: Call, count: int) -> None:
        end = call.number + count
        content.extend(bytes(max(end - len(content), 0)))
        content[call.number : end] = memoryview(call.data)[:count]

    def _rename(self, call: Call) -> None:
        if not call.is_directory:
            self.files[call.target] = self.files.pop(call.path)
            return
        self.directories.remove(call.path)
        self.directories.add(call.target)
        for path in [path for path in self.files if path.startswith(call.path + "/")]:
            self.files[call.target + path.removeprefix(call.path)] = self.files.pop(path)


def test_every_named_place_is_passed_and_the_calls_are_all_there_is(tmp_path: Path) -> None:
    """What the calls add up to is what is on disk, byte for byte: none goes unseen."""
    mirror = Mirror()
    data_dir = tmp_path / "data"
    scene = Scene(data_dir)
    with watch(data_dir, [mirror]):
        scene.play()
    assert [name for name in listed() if name not in mirror.names] == []
    assert [name for name in mirror.names if name.startswith(OTHER)] == []
    on_disk = {
        os.path.join(folder, name): Path(folder, name).read_bytes()
        for folder, _, names in os.walk(data_dir)
        for name in names
    }
    assert {path: bytes(content) for path, content in mirror.files.items()} == on_disk
    assert mirror.directories == {folder for folder, _, _ in os.walk(data_dir)}
    assert scene.faults() == []


def test_v72_a_disk_that_fails_anywhere_loses_nothing_acknowledged(tmp_path: Path) -> None:
    """A short share of `python -m tests.crash.faulty`."""
    findings = run(7, 6, tmp_path)
    assert findings.faults == []
    assert findings.met > 0
