"""What a script is: steps for a cluster of three brokers, before any cluster has taken them.

Steps are those of tests.differential.coordinator_sequence; `at` in their arguments says which
broker gets the request, see tests.differential.cluster_addressees. Beside requests there are `Look`
and the steps of brokers: `Kill`, `Stop`, `Pause`, `Resume`, `Start`, `EndSessions`.
"""

from dataclasses import dataclass

from tests.differential.coordinator_sequence import Step


@dataclass(frozen=True, slots=True)
class Script:
    """The steps of one seed.

    Args:
        kind: which maker made it.
    """

    seed: int
    kind: str
    steps: tuple[Step, ...]

    def text(self) -> str:
        """What happens, a line for each step."""
        return "\n".join(f"  {index:3} {step.text()}" for index, step in enumerate(self.steps))
