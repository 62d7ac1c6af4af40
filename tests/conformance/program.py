"""Programs under test, one client each, which take commands and print events by lines.

A program gets its options as `name=value` words. It reads commands from standard input, whose end
means `leave`, and prints `MILLISECONDS KIND WORD...`, where the time is the machine's clock, so
that the events of several programs can be put into the order in which they happened.
"""

import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, Self

TIMEOUT_S = 40
PAUSE_S = 0.05


class Event(NamedTuple):
    """One line of a program."""

    time_ms: int
    kind: str
    words: tuple[str, ...]


class Program:
    """One running program; made by `Programs.start`.

    Attributes:
        name: what its options call it.
        events: all that it printed so far.
    """

    def __init__(
        self, name: str, command: Sequence[str], errors: Path, changed: threading.Condition
    ) -> None:
        self.name = name
        self.events: list[Event] = []
        self._errors = errors
        self._changed = changed
        self._was_killed = False
        with errors.open("w") as sink:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=sink,
                text=True,
                start_new_session=True,  # an interrupt is for who started it
            )
        self._reader = threading.Thread(target=self._read, name=name)
        self._reader.start()

    @property
    def failed(self) -> bool:
        """Whether it ended by itself, and badly."""
        return not self._was_killed and self._process.poll() not in {None, 0}

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            time_ms, kind, *words = line.split()
            with self._changed:
                self.events.append(Event(int(time_ms), kind, tuple(words)))
                self._changed.notify_all()
        with self._changed:
            self._changed.notify_all()

    @property
    def running(self) -> bool:
        """Whether the process still lives."""
        return self._process.poll() is None

    @property
    def errors(self) -> str:
        """The end of what it wrote to standard error."""
        return self._errors.read_text()[-3000:]

    def tell(self, *words: object) -> None:
        """Send a command."""
        assert self._process.stdin is not None
        self._process.stdin.write(" ".join(map(str, words)) + "\n")
        self._process.stdin.flush()

    def ask(self, *words: object) -> Event:
        """Send a command and wait for its answer, an event of the kind `done` or `failed`."""

        def answers() -> list[Event]:
            return [event for event in self.events if event.kind in {"done", "failed"}]

        before = len(answers())
        self.tell(*words)
        with self._changed:
            self._changed.wait_for(
                lambda: len(answers()) > before or not self.running, timeout=TIMEOUT_S
            )
            found = answers()
        assert len(found) > before, f"{self.name}: no answer to {words}:\n{self.errors}"
        return found[before]

    def do(self, *words: object) -> tuple[str, ...]:
        """Send a command that must succeed; give the words of its answer."""
        answer = self.ask(*words)
        assert answer.kind == "done", f"{self.name}: {words}: {answer}\n{self.errors}"
        return answer.words

    def of_kind(self, kind: str) -> list[Event]:
        """Its events of one kind."""
        return [event for event in self.events if event.kind == kind]

    @property
    def partitions(self) -> frozenset[int]:
        """What it last said to own; a program that is gone owns nothing."""
        said = self.of_kind("assigned")
        if not said or not said[-1].words or not self.running:
            return frozenset()
        return frozenset(map(int, said[-1].words[0].split(",")))

    def begin_to_leave(self) -> None:
        """Tell it to end as an application ends."""
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):
            self._process.stdin.close()

    def leave(self) -> None:
        """End it as an application ends; it must succeed."""
        self.begin_to_leave()
        code = self._process.wait(TIMEOUT_S)
        self._close()
        assert code == 0, f"{self.name} ended with {code}:\n{self.errors}"

    def kill(self) -> None:
        """End it with SIGKILL."""
        self._was_killed = self._was_killed or self.running
        self._process.kill()
        self._process.wait()
        self._close()

    def _close(self) -> None:
        self._reader.join()
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            with suppress(BrokenPipeError):  # the killed program did not take the last command
                pipe.close()


class Programs:
    """The programs of one test; a context manager that lets none of them live on.

    Attributes:
        all: every program that was started.
        may_fail: whether it is no fault when one ends by itself.
    """

    def __init__(self, folder: Path, *, may_fail: bool = False) -> None:
        self.all: list[Program] = []
        self.may_fail = may_fail
        self._folder = folder
        self._changed = threading.Condition()

    def start(self, command: Sequence[str], options: Mapping[str, object], name: str) -> Program:
        """Start one with these options."""
        words = [f"{key}={value}" for key, value in options.items() if value is not None]
        errors = self._folder / f"{name}-{len(self.all)}.err"
        program = Program(name, [*command, *words], errors, self._changed)
        self.all.append(program)
        return program

    def wait_until(self, condition: Callable[[], bool], what: str) -> None:
        """Wait until something is so, looked at after each event and now and then."""
        deadline = time.monotonic() + TIMEOUT_S
        while not condition():  # without the lock: it may ask the broker
            with self._changed:
                self._changed.wait(PAUSE_S)
            if not self.may_fail:
                failed = [program.name for program in self.all if program.failed]
                assert not failed, f"{failed} failed, waiting for: {what}\n{self.report()}"
            assert time.monotonic() < deadline, f"not in time: {what}\n{self.report()}"

    def report(self) -> str:
        """The end of what each program printed."""
        parts = []
        for program in self.all:
            lines = [
                f"  {event}" for event in program.events if event.kind not in {"read", "committed"}
            ]
            lines = lines[-12:]
            lines += [f"  read {len(program.of_kind('read'))}", program.errors]
            parts.append("\n".join([f"{program.name} (running: {program.running}):", *lines]))
        return "\n".join(parts)

    def leave(self) -> None:
        """End all that still run as applications end, at the same time; they must succeed."""
        running = [program for program in self.all if program.running]
        for program in running:
            program.begin_to_leave()
        for program in running:
            program.leave()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for program in self.all:
            program.kill()
