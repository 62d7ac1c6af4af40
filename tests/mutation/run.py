"""Mutate modules and see whether their own tests notice: python -m tests.mutation.run.

A sample of mutants (operators.py) of some rooms is drawn from a seed. Each is put into a copy of
the tree, from the source, with nothing compiled, and only the tests that mirror its module run
there. A mutant is killed when one fails, or when they hang; the same test is run without the mutant
then, to see that it was the mutant. One that survives shows a test that is missing, or a change
that nobody can see. Interrupted, the run tells what it has seen so far.
"""

import argparse
import ast
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from queue import SimpleQueue
from typing import Final, NamedTuple

from tests.mutation.operators import mutated, mutations
from tests.tidy.project_files import ROOT, project_files
from tests.tidy.tested import also_tested, mirror

ROOMS: Final = ("log", "record", "coordinator", "handler")
KILLED, SURVIVED, TIMED_OUT, BROKEN = "killed", "survived", "timed out", "broken"
PASSED = 0
TIMEOUT_S: Final = 120.0
_PYTEST: Final = (
    *(sys.executable, "-m", "pytest", "-q", "-x"),
    *("--no-header", "--tb=no", "--hypothesis-seed=0"),
)
_THE_FAILED_ONE: Final = ("--last-failed",)


class Mutant(NamedTuple):
    """A mutation of a module.

    Attributes:
        module: its path below the root.
        number: of the mutation in the module.
        line: where it is.
        change: what becomes of what.
    """

    module: Path
    number: int
    line: int
    change: str

    def __str__(self) -> str:
        return f"{self.module}:{self.line} #{self.number}: {self.change}"


def all_mutants(root: Path, modules: Iterable[Path]) -> list[Mutant]:
    """Every mutant of some modules."""
    return [
        Mutant(module, number, found.line, f"{_short(found.before)}  ->  {_short(found.after)}")
        for module in modules
        for number, found in enumerate(mutations(ast.parse((root / module).read_text("utf-8"))))
    ]


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= 80 else text[:77] + "..."


def mirrored_tests(root: Path, module: Path) -> list[Path]:
    """The files of tests of a module: its mirror, and those that say that they test it, too."""
    paths = [mirror(module), *also_tested().get(module, ())]
    return [path for path in paths if (root / path).is_file()]


class Tree:
    """A copy of the tree, in which one mutant at a time is tested."""

    def __init__(self, root: Path, folder: Path, files: Iterable[Path]) -> None:
        """Copy the files below a folder, which must not exist."""
        self._root = root
        self._folder = folder
        self._running: subprocess.Popen[bytes] | None = None
        for path in files:
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(root / path, target, follow_symlinks=False)

    def run_tests(
        self, tests: Sequence[Path], timeout_s: float, options: Sequence[str] = ()
    ) -> int:
        """Run test files, to the first that fails.

        Returns:
            pytest's exit code.

        Raises:
            TimeoutExpired: they took longer; they and what they started are killed.
        """
        self._running = subprocess.Popen(
            [*_PYTEST, *options, *map(str, tests)],
            cwd=self._folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            return self._running.wait(timeout_s)
        finally:
            self.stop()

    def stop(self) -> None:
        """End the tests that run, with all that they started."""
        running, self._running = self._running, None
        if running is not None:
            try:
                os.killpg(running.pid, signal.SIGKILL)
            except ProcessLookupError:
                return
            finally:
                running.wait()

    def judge(self, mutant: Mutant, tests: Sequence[Path], timeout_s: float = TIMEOUT_S) -> str:
        """Test a mutant; the tree is as before afterwards."""
        path = self._folder / mutant.module
        source = path.read_text("utf-8")
        self._write(path, mutated(source, mutant.number))
        try:
            if self.run_tests(tests, timeout_s) == PASSED:
                return SURVIVED
            outcome, options = KILLED, _THE_FAILED_ONE
        except subprocess.TimeoutExpired:
            outcome, options = TIMED_OUT, ()
        finally:
            self._write(path, source)
        try:
            return outcome if self.run_tests(tests, timeout_s, options) == PASSED else BROKEN
        except subprocess.TimeoutExpired:
            return BROKEN

    def _write(self, path: Path, source: str) -> None:
        # a file of the same size within the same second is taken for the one that was compiled
        for compiled in (path.parent / "__pycache__").glob(f"{path.stem}.*"):
            compiled.unlink()
        path.write_text(source, "utf-8")


class Run:
    """A run over some mutants.

    Attributes:
        outcomes: what has been seen so far, by mutant.
    """

    def __init__(self, root: Path, mutants: Sequence[Mutant], trees: Sequence[Tree]) -> None:
        self.outcomes: dict[Mutant, str] = {}
        self._root = root
        self._mutants = mutants
        self._trees: SimpleQueue[Tree] = SimpleQueue()
        self._every_tree = trees
        self._lock = threading.Lock()
        self._is_stopped = False
        for tree in trees:
            self._trees.put(tree)

    def work(self) -> None:
        """Judge all, one in each tree at a time; KeyboardInterrupt ends it early."""
        also_tested()  # here, because ast.parse fails in several threads at once
        pool = ThreadPoolExecutor(len(self._every_tree))
        try:
            list(pool.map(self._judge, self._mutants))
        finally:
            self._is_stopped = True
            for tree in self._every_tree:
                tree.stop()
            pool.shutdown(cancel_futures=True)

    def _judge(self, mutant: Mutant) -> None:
        if self._is_stopped:
            return
        tests = mirrored_tests(self._root, mutant.module)
        tree = self._trees.get()
        try:
            outcome = tree.judge(mutant, tests) if tests else BROKEN
        finally:
            self._trees.put(tree)
        if not self._is_stopped:
            self._note(mutant, outcome)

    def _note(self, mutant: Mutant, outcome: str) -> None:
        with self._lock:
            self.outcomes[mutant] = outcome
            if outcome in (SURVIVED, BROKEN):
                print(f"{outcome}: {mutant}", flush=True)
            counts = Counter(self.outcomes.values())
            told = ", ".join(f"{name} {count}" for name, count in counts.items())
            end = "\r" if sys.stderr.isatty() else "\n"
            print(f"{len(self.outcomes)}/{len(self._mutants)}: {told}", end=end, file=sys.stderr)

    def summary(self) -> str:
        """Share of those that were killed, by room and of all."""
        lines = []
        for room in (*sorted({mutant.module.parts[1] for mutant in self.outcomes}), "all"):
            counts = Counter(
                outcome
                for mutant, outcome in self.outcomes.items()
                if room in (mutant.module.parts[1], "all")
            )
            judged = counts.total() - counts[BROKEN]
            killed = counts[KILLED] + counts[TIMED_OUT]
            share = 100 * killed / judged if judged else 0
            lines.append(
                f"{room}: {killed} of {judged} killed ({share:.1f} %), "
                f"{counts[TIMED_OUT]} of them by time"
                + (f"; {counts[BROKEN]} whose tests fail without them" * bool(counts[BROKEN]))
            )
        return "\n".join(lines)


@contextmanager
def copies(root: Path, files: Sequence[Path], count: int) -> Iterator[list[Tree]]:
    """Some copies of a tree, for as long as they are needed."""
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        yield [Tree(root, Path(folder) / str(number), files) for number in range(count)]


def chosen(modules: Sequence[Path], root: Path, seed: int, count: int) -> list[Mutant]:
    """Draw mutants, in no order, so that the first of them are a sample, too."""
    every = all_mutants(root, modules)
    return random.Random(seed).sample(every, min(count, len(every)))


def modules_of(rooms: Sequence[str]) -> list[Path]:
    """The modules below folders of the package, or single modules."""
    wanted = [Path("broker_lite") / room for room in rooms]
    found = [
        path for path in project_files() if path.suffix == ".py" and path.parts[0] == "broker_lite"
    ]
    return [
        path
        for path in found
        if path.name != "__init__.py" and any(path.is_relative_to(each) for each in wanted)
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run from the command line; the exit code is 1 when mutants survived."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("rooms", nargs="*", default=ROOMS, help="folders or modules of broker_lite")
    options = parser.parse_args(arguments)
    modules = modules_of(options.rooms)
    mutants = chosen(modules, ROOT, options.seed, options.count)
    with copies(ROOT, project_files(), options.jobs) as trees:
        run = Run(ROOT, mutants, trees)
        try:
            run.work()
        except KeyboardInterrupt:
            print("\ninterrupted")
    print(f"seed {options.seed}, {len(run.outcomes)} of {len(mutants)} mutants")
    print(run.summary())
    return int(SURVIVED in run.outcomes.values())


if __name__ == "__main__":
    sys.exit(main())
