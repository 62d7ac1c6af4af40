"""The scripts of a process that run, or have run."""

import random
from typing import TYPE_CHECKING, Final

from broker_lite.testbench.errors import ControlError
from broker_lite.testbench.scripts.form import Record, Script
from broker_lite.testbench.scripts.prepare import Check, Prepared, prepare
from broker_lite.testbench.scripts.run import Ask, ScriptRun

if TYPE_CHECKING:
    from broker_lite.testbench.bench import Bench

RUNS_MAX: Final = 100
_SEED_BITS: Final = 32


def prepared(given: Script | Record, check: Check) -> Prepared:
    """Return a script ready to run, see prepare(); one without a seed gets a random one."""
    return prepare(given, check, random.getrandbits(_SEED_BITS))


class Scripts:
    """All runs, through all lives of the broker."""

    def __init__(self, bench: "Bench") -> None:
        """Begin without a run."""
        self._bench = bench
        self._runs: dict[str, ScriptRun] = {}
        self._started = 0

    async def start(self, script: Prepared, ask: Ask) -> ScriptRun:
        """Run a script from now on.

        Raises:
            ControlError: it cannot run here, or there are too many.
        """
        if len(self._runs) >= RUNS_MAX:
            raise ControlError(409, f"there may be {RUNS_MAX} scripts: delete some")
        run = ScriptRun(f"s{self._started + 1}", script, self._bench, ask)
        self._started += 1
        await run.begin()
        self._runs[run.id] = run  # only now can it be asked and ended
        return run

    def list(self) -> list[ScriptRun]:
        """Return all runs that were not removed."""
        return list(self._runs.values())

    def get(self, run_id: str) -> ScriptRun:
        """Return a run.

        Raises:
            ControlError: there is none of this id.
        """
        run = self._runs.get(run_id)
        if run is None:
            raise ControlError(404, f"there is no script {run_id!r}")
        return run

    def remove(self, run_id: str) -> ScriptRun:
        """End a run, and remove its rules.

        Raises:
            ControlError: there is none of this id.
        """
        run = self.get(run_id)
        del self._runs[run_id]
        run.end()
        return run

    def clear(self) -> None:
        """End all runs."""
        for run_id in list(self._runs):
            self.remove(run_id)
