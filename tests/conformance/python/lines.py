"""What the Python programs under test share: options, commands, events.

tests.conformance.program says how the lines look.
"""

import asyncio
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Iterable
from queue import Empty, SimpleQueue


def options() -> dict[str, str]:
    """The `name=value` words of the command line."""
    return {name: value for name, _, value in (word.partition("=") for word in sys.argv[1:])}


def emit(kind: str, *words: object) -> None:
    """Print one event."""
    line = " ".join(map(str, (time.time_ns() // 1_000_000, kind, *words)))
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def name_of(error: BaseException) -> str:
    """An error as one word."""
    return f"{type(error).__name__}:{error}".replace(" ", "_").replace("\n", "_")


class Commands:
    """The lines of standard input, read by a thread; the last one is `leave`."""

    def __init__(self) -> None:
        self._lines: SimpleQueue[list[str]] = SimpleQueue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        for line in sys.stdin:
            self._lines.put(line.split())
        self._lines.put(["leave"])

    def next(self) -> list[str] | None:
        """The next command, if there is one."""
        try:
            return self._lines.get_nowait()
        except Empty:
            return None

    def wait(self) -> list[str]:
        """The next command."""
        return self._lines.get()


class Owned:
    """The partitions of a member; each change is an event."""

    def __init__(self) -> None:
        self._partitions: set[int] = set()

    def add(self, partitions: Iterable[int]) -> None:
        """Some were assigned."""
        self._partitions.update(partitions)
        self._emit()

    def remove(self, partitions: Iterable[int]) -> None:
        """Some were revoked or lost."""
        self._partitions.difference_update(partitions)
        self._emit()

    def _emit(self) -> None:
        emit("assigned", ",".join(map(str, sorted(self._partitions))))


def answer(command: list[str], execute: Callable[[list[str]], Iterable[object]]) -> None:
    """Execute a command; print `done` with what it gives, or `failed`."""
    try:
        emit("done", command[0], *execute(command))
    except Exception as error:
        emit("failed", command[0], name_of(error))


async def answer_async(
    command: list[str], execute: Callable[[list[str]], Awaitable[Iterable[object]]]
) -> None:
    """The same for a client of coroutines."""
    try:
        emit("done", command[0], *await execute(command))
    except Exception as error:
        emit("failed", command[0], name_of(error))


def serve(execute: Callable[[list[str]], Iterable[object]]) -> None:
    """Answer each command until `leave`."""
    commands = Commands()
    while (command := commands.wait()) != ["leave"]:
        answer(command, execute)


async def serve_async(execute: Callable[[list[str]], Awaitable[Iterable[object]]]) -> None:
    """The same for a client of coroutines."""
    commands = Commands()
    while (command := await asyncio.to_thread(commands.wait)) != ["leave"]:
        await answer_async(command, execute)
