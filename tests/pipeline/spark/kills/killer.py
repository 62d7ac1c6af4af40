"""Kills workers of a session in the midst of its stages, from a thread beside the job."""

import random
import signal
import time
from threading import Event, Thread
from typing import Final, Self

from pyspark import SparkContext, SparkStageInfo

from tests.pipeline.spark.kills.victims import signalled, standing_still, victims

POLL_S: Final = 0.01
_MET_S: Final = 1.0
"""How soon Spark says that a task failed."""


class Killer:
    """A context manager around a job.

    Args:
        context: of the session.
        kind: `worker` or `executor`.
        kills: how many of them are to cost a task.
        share: of its tasks that a stage has to have done.
        choice: which victim.

    Attributes:
        killed: how many were.
        lost: how many of these had a task.
    """

    def __init__(
        self, context: SparkContext, kind: str, kills: int, share: float, choice: random.Random
    ) -> None:
        self._tracker = context.statusTracker()
        self._kind, self._kills, self._share, self._choice = kind, kills, share, choice
        self._is_over = Event()
        self._thread = Thread(target=self._watch)
        self._error: BaseException | None = None
        self.killed = 0
        self.lost = 0

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()
        if self._error is not None:
            raise self._error

    def _watch(self) -> None:
        try:
            while self.lost < self._kills and not self._is_over.wait(POLL_S):
                for stage in self._tracker.getActiveStageIds():
                    found = self._tracker.getStageInfo(stage)
                    if found is not None and self.lost < self._kills and self._is_due(found):
                        self._kill(stage, found)
        except BaseException as error:
            self._error = error

    def _is_due(self, stage: SparkStageInfo) -> bool:
        """Whether a stage has work and, where it has many tasks, some results."""
        return stage.numActiveTasks > 0 and stage.numCompletedTasks >= int(
            stage.numTasks * self._share
        )

    def _kill(self, stage: int, before: SparkStageInfo) -> None:
        """Kill one after another until a failure of the stage tells that one had a task.

        All of them stand still meanwhile, so that no task ends before its worker is killed.
        """
        found = victims(self._kind)
        self._choice.shuffle(found)
        with standing_still(found):
            for one in found:
                if signalled(one, signal.SIGKILL):
                    self.killed += 1
                    if self._has_failed(stage, before):
                        self.lost += 1
                        return

    def _has_failed(self, stage: int, before: SparkStageInfo) -> bool:
        """Wait for Spark to say that a task of a stage failed; one without tasks has ended."""
        deadline = time.monotonic() + _MET_S
        while time.monotonic() < deadline:
            now = self._tracker.getStageInfo(stage)
            if now is not None and now.numFailedTasks > before.numFailedTasks:
                return True
            if now is None or now.numActiveTasks == 0 or self._is_over.wait(POLL_S):
                return False
        return False
