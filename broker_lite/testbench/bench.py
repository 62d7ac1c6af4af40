"""What the control API works on: the broker of this process, its faults and its journal."""

from typing import Final

import anyio

from broker_lite.server.life import Life
from broker_lite.server.seams import Seams
from broker_lite.testbench.errors import ControlError
from broker_lite.testbench.faults.engine import Faults
from broker_lite.testbench.hooks import BenchHooks
from broker_lite.testbench.journal.journal import Journal
from broker_lite.testbench.journal.recording import Recording
from broker_lite.testbench.refusals import Refusals
from broker_lite.testbench.scripts.runs import Scripts
from broker_lite.testbench.streams_views import ConfiguredTopologies
from broker_lite.testbench.waits import Waits

_UNAVAILABLE: Final = 503


class Bench:
    """The state of the test bench, through all lives of the broker.

    Attributes:
        faults: the rules in force.
        journal: what clients asked, and what they were answered.
        refusals: the last refused requests.
        waits: what callers wait for.
        scripts: those that run or have run.
        topologies: of streams groups, as long as no heartbeat has configured them.
    """

    def __init__(self, seams: Seams, refusals: Refusals) -> None:
        """Begin without a life.

        Args:
            seams: where it takes part in requests and connections.
            refusals: the last refused requests.
        """
        self.refusals = refusals
        self.waits = Waits()
        self.faults = Faults()
        self.journal = Journal()
        self.scripts = Scripts(self)
        self.topologies = ConfiguredTopologies()
        self._hooks = BenchHooks(seams, self.faults, self.journal)
        self._life: Life | None = None
        self._is_ready = False
        self._lives = 0
        self._begun = anyio.Event()

    @property
    def life(self) -> Life:
        """The broker as it runs now.

        Raises:
            ControlError: it does not accept clients yet, or begins anew.
        """
        if self._life is None:
            raise ControlError(_UNAVAILABLE, "the broker is not ready")
        return self._life

    @property
    def is_ready(self) -> bool:
        """Whether clients are accepted, and the script of the start is in force."""
        return self._life is not None and self._is_ready

    def record(self, recording: Recording) -> None:
        """Record as much of requests as is asked for from now on.

        Raises:
            ControlError: a bound is out of its range, or there is no such API.
        """
        self.journal.configure(recording)
        self._hooks.refresh()

    def clear(self, *, faults: bool, journal: bool) -> None:
        """End faults and scripts, or forget what clients asked; the recording goes on."""
        if faults:
            self.scripts.clear()
            self.faults.clear()
            if self._life is not None and self._life.certificates is not None:
                self._life.certificates.put_back_as_at_start()
        if journal:
            self.journal.clear()

    def begin(self, life: Life, *, is_ready: bool = True) -> None:
        """Take part in a life.

        Args:
            life: it has begun.
            is_ready: False while a script is still to begin; then mark_ready() has to follow.
        """
        self._life = life
        self._is_ready = is_ready
        self.faults.disk.begin(life.cluster)
        self._lives += 1
        self._begun.set()

    def mark_ready(self) -> None:
        """Tell from now on that it is ready."""
        self._is_ready = True

    def release_disk(self) -> None:
        """Let the disk work, as a life is about to end: nothing waits for a slow fsync then."""
        self.faults.disk.end()

    def end(self) -> None:
        """Let go of a life that ends."""
        self.journal.end_life()
        self.faults.disk.end()
        self._life = None
        self._begun = anyio.Event()

    async def next_life(self) -> None:
        """Wait until the life after the present one has begun."""
        present = self._lives
        while self._life is None or self._lives == present:
            await self._begun.wait()
            if self._lives == present:
                await anyio.sleep(0.001)
