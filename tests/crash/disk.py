"""A disk that loses, when its power goes, what was not synced; as harsh as POSIX allows.

Of a file only what was written before its last sync is sure. Of what came later any part may be
there, page by page, in any order; a page that is not reads as zeros. Of a directory those names are
sure that it had at its last sync, and each later change is there only if all before it are. An
empty rest is as possible as a whole one. (ext4 and XFS keep more: who syncs a new file there also
has its name.)
"""

import random
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final, TypeAlias

from tests.crash.journal import SYNC_BEGINS, Entry

PAGE_BYTES: Final = 4096
_TOP: Final = "."


class Change:
    """A write or a cut that may get lost."""

    __slots__ = ("data", "number")

    def __init__(self, number: int, data: bytes | None) -> None:
        """Remember it.

        Args:
            number: position of a write, size of a cut.
            data: None of a cut.
        """
        self.number = number
        self.data = data

    def apply(self, content: bytearray) -> None:
        """Make the change."""
        if self.data is None:
            _resize(content, self.number)
            return
        end = self.number + len(self.data)
        _resize(content, max(len(content), end))
        content[self.number : end] = self.data

    def pages(self) -> "list[Change]":
        """The parts of it that a disk writes at once."""
        if self.data is None:
            return [self]
        parts = []
        position, end = self.number, self.number + len(self.data)
        while position < end:
            upto = min(end, (position // PAGE_BYTES + 1) * PAGE_BYTES)
            parts.append(Change(position, self.data[position - self.number : upto - self.number]))
            position = upto
        return parts


class File:
    """What is sure of a file, and what is not."""

    def __init__(self, sure: bytes = b"") -> None:
        """Begin with content that is sure."""
        self.sure = bytearray(sure)
        self._unsure: list[Change] = []
        self._settled = 0

    def change(self, change: Change) -> None:
        """Change what is not sure."""
        self._unsure.append(change)

    def mark(self) -> int:
        """How many changes there were so far."""
        return self._settled + len(self._unsure)

    def settle(self, mark: int) -> None:
        """All changes before a mark are sure now."""
        count = max(mark - self._settled, 0)
        for change in self._unsure[:count]:
            change.apply(self.sure)
        del self._unsure[:count]
        self._settled += count

    def remains(self, source: random.Random) -> bytes:
        """What a power loss leaves of it."""
        content = bytearray(self.sure)
        kept = self._unsure
        match source.choice(("nothing", "all", "first", "some")):
            case "nothing":
                kept = []
            case "first":
                kept = kept[: source.randint(0, len(kept))]
            case "some":
                pages = [page for change in kept for page in change.pages()]
                kept = [page for page in pages if source.random() < 0.5]
        for change in kept:
            change.apply(content)
        return bytes(content)


class Directory:
    """The names in a directory, those that are sure, and the changes that are not, in order."""

    def __init__(self, sure: "Mapping[str, Node] | None" = None) -> None:
        """Begin with names that are sure."""
        self.names: dict[str, Node] = dict(sure or {})
        self._sure = dict(self.names)
        self._unsure: list[Mapping[str, Node | None]] = []
        self._settled = 0

    def change(self, changed: "Mapping[str, Node | None]") -> None:
        """Change names at once; None is one that goes."""
        _change(self.names, changed)
        self._unsure.append(changed)

    def mark(self) -> int:
        """How many changes there were so far."""
        return self._settled + len(self._unsure)

    def settle(self, mark: int) -> None:
        """All changes before a mark are sure now."""
        count = max(mark - self._settled, 0)
        for changed in self._unsure[:count]:
            _change(self._sure, changed)
        del self._unsure[:count]
        self._settled += count

    def remains(self, source: random.Random) -> "dict[str, Node]":
        """What a power loss leaves of it."""
        names = dict(self._sure)
        for changed in self._unsure[: source.randint(0, len(self._unsure))]:
            _change(names, changed)
        return names


Node: TypeAlias = File | Directory


class Disk:
    """A directory tree of which a part is sure."""

    def __init__(self, root: Path) -> None:
        """Begin with a directory as it is, all of it sure."""
        self._top = _load(root)
        self._syncs: dict[int, list[tuple[Node, int]]] = {}

    def replay(self, entries: Iterable[Entry]) -> None:
        """Let happen what a journal tells."""
        for entry in entries:
            self._replay(entry)
        self._syncs.clear()

    def power_off(self, source: random.Random, root: Path) -> None:
        """Write what is left to a directory that does not exist yet."""
        _save(self._top, root, source)

    def _replay(self, entry: Entry) -> None:
        match entry.kind:
            case "write":
                self._file(entry.path).change(Change(entry.number, entry.data))
            case "cut":
                self._file(entry.path).change(Change(entry.number, None))
            case "create":
                self._create(entry.path)
            case "mkdir":
                self._put(entry.path, Directory())
            case "remove" | "rmdir":
                self._put(entry.path, None)
            case "rename":
                self._rename(entry.path, entry.target)
            case kind if kind == SYNC_BEGINS:
                nodes = self._synced(entry)
                self._syncs[entry.number] = [(node, node.mark()) for node in nodes]
            case "sync" | "sync-all":
                for node, mark in self._syncs.pop(entry.number):
                    node.settle(mark)

    def _synced(self, entry: Entry) -> Iterable[Node]:
        if entry.target == "sync-all":
            return _everything(self._top)
        try:
            return [self._find(entry.path)]
        except KeyError:  # another thread has removed it meanwhile
            return []

    def _create(self, path: str) -> None:
        directory, name = self._split(path)
        old = directory.names.get(name)
        if isinstance(old, File):
            old.change(Change(0, None))
        else:
            directory.change({name: File()})

    def _put(self, path: str, node: Node | None) -> None:
        directory, name = self._split(path)
        directory.change({name: node})

    def _rename(self, path: str, target: str) -> None:
        directory, name = self._split(path)
        to_directory, to_name = self._split(target)
        assert directory is to_directory, f"{path} moves to another directory"
        directory.change({name: None, to_name: directory.names[name]})

    def _split(self, path: str) -> tuple[Directory, str]:
        above, _, name = path.rpartition("/")
        directory = self._find(above or _TOP)
        assert isinstance(directory, Directory), path
        return directory, name

    def _file(self, path: str) -> File:
        file = self._find(path)
        assert isinstance(file, File), path
        return file

    def _find(self, path: str) -> Node:
        node: Node = self._top
        for name in path.split("/") if path != _TOP else ():
            assert isinstance(node, Directory), path
            node = node.names[name]
        return node


def _change(names: dict[str, Node], changed: Mapping[str, Node | None]) -> None:
    for name, node in changed.items():
        names.pop(name, None)
        if node is not None:
            names[name] = node


def _everything(top: Directory) -> Iterator[Node]:
    yield top
    for node in top.names.values():
        yield from _everything(node) if isinstance(node, Directory) else (node,)


def _resize(content: bytearray, size_bytes: int) -> None:
    del content[size_bytes:]
    content += bytes(size_bytes - len(content))


def _load(path: Path) -> Directory:
    return Directory(
        {
            each.name: _load(each) if each.is_dir() else File(each.read_bytes())
            for each in path.iterdir()
        }
    )


def _save(directory: Directory, path: Path, source: random.Random) -> None:
    path.mkdir()
    for name, node in sorted(directory.remains(source).items()):
        if isinstance(node, Directory):
            _save(node, path / name, source)
        else:
            (path / name).write_bytes(node.remains(source))
