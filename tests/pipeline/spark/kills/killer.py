"""Kills workers of a session in the midst of its stages, from a thread beside the job."""

import random
import time
from threading import Event, Thread
from typing import Final, Self

from pyspark import SparkContext, SparkStageInfo

from tests.pipeline.spark.kills.victims import kill_one

POLL_S: Final = 0.01
_MET_S: Final = 3.0
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
        """Kill one, and wait for a failure of the stage that tells that it had a task."""
        if not kill_one(self._kind, self._choice):
            return
        self.killed += 1
        deadline = time.monotonic() + _MET_S
        while time.monotonic() < deadline:
            now = self._tracker.getStageInfo(stage)
            if now is not None and now.numFailedTasks > before.numFailedTasks:
                self.lost += 1
                return
            if self._is_over.wait(POLL_S):
                return
