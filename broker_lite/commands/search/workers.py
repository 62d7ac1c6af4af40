"""Searches splits in several processes, and yields what they find in the order of the splits.

Process i of n searches the splits i, i + n, i + 2n and so on. Each has a pipe of its own, and waits
when that is full: so memory is bounded, however much is found. The pipes are read in turn.
"""

import multiprocessing
import signal
import threading
from collections.abc import Generator, Iterator, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection
from multiprocessing.context import ForkContext, SpawnContext
from typing import Final

from broker_lite.commands.search.task import Found, SearchTask
from broker_lite.commands.shared.reading_errors import reading_told
from broker_lite.errors import ClientError, KafkaStorageError, SettingsError
from broker_lite.pipeline.files.file_io import LocalFileIO
from broker_lite.pipeline.files.open_file_io import open_file_io
from broker_lite.pipeline.read.split import Split

_END_S: Final = 5.0
_ERRORS: Final = (ClientError, KafkaStorageError, SettingsError, OSError)


def found_in_order(
    task: SearchTask, splits: Sequence[Split], processes: int
) -> Generator[Found, None, None]:
    """Search splits; the processes end with the iteration, also with one that is left early.

    Args:
        task: what to search.
        splits: where, in order.
        processes: how many; with 1, this process does it.

    Raises:
        SettingsError, ClientError, KafkaStorageError, OSError: see SearchTask.search().
    """
    if processes < 2:
        for split in splits:
            with reading_told():
                yield from task.search(split)
        return
    context = _context(task)
    workers = []
    pipes: list[Connection] = []
    try:
        for number in range(processes):
            ours, theirs = context.Pipe(duplex=False)
            pipes.append(ours)
            inherited = tuple(pipes) if isinstance(context, ForkContext) else ()
            worker = context.Process(
                target=_work,
                args=(task, splits[number::processes], theirs, inherited),
                daemon=True,
            )
            worker.start()
            workers.append(worker)
            theirs.close()
        for number in range(len(splits)):
            yield from _found_in_split(pipes[number % processes])
    finally:
        for pipe in pipes:
            pipe.close()
        for worker in workers:
            worker.terminate()
            worker.join(_END_S)


def _context(task: SearchTask) -> ForkContext | SpawnContext:
    """Return how to start a process: a fork needs no time, but would copy connections and locks.

    Object stores have connections, and only other threads hold locks.
    """
    io, _ = open_file_io(task.options.path)
    if isinstance(io, LocalFileIO) and threading.active_count() == 1:
        return multiprocessing.get_context("fork")
    return multiprocessing.get_context("spawn")


def _found_in_split(pipe: Connection) -> Iterator[Found]:
    """Yield what a process finds in its next split."""
    while True:
        try:
            found = pipe.recv()
        except (EOFError, OSError) as error:  # between two messages, or within one
            raise KafkaStorageError("a process of the search ended unexpectedly") from error
        if found is None:
            return
        if isinstance(found, Exception):
            raise found
        yield found


def _work(
    task: SearchTask, splits: Sequence[Split], pipe: Connection, inherited: Sequence[Connection]
) -> None:
    """Search splits in a process of its own, until the other end of the pipe is closed.

    Args:
        task: what to search.
        splits: where, in order.
        pipe: takes what is found.
        inherited: what a fork has of the ends of others; while it is open, no pipe is closed.
    """
    for end in inherited:
        end.close()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that prints
    with suppress(BrokenPipeError):
        for split in splits:
            try:
                with reading_told():
                    for found in task.search(split):
                        pipe.send(found)
            except BrokenPipeError:
                raise
            except _ERRORS as error:
                pipe.send(error)
                return
            pipe.send(None)
