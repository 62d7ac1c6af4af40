"""Random sequences of a group whose members commit their offsets within transactions."""

import random
from typing import Any

from tests.differential.classic_steps import ClassicSteps
from tests.differential.consumer_steps import ConsumerSteps
from tests.differential.coordinator_sequence import Step
from tests.differential.step_maker import StepMaker, Versions
from tests.differential.transaction_steps import TransactionSteps


class ExactlyOnceSteps(StepMaker):
    """Members of a group that commit their offsets within transactions (T-40 to T-45)."""

    def __init__(self, source: random.Random, versions: Versions, *, waits: bool) -> None:
        super().__init__(source, versions, waits=waits)
        self._transactions = TransactionSteps(source, versions, waits=waits)
        self._transactions.members = self._member
        self._group: ClassicSteps | ConsumerSteps
        if source.random() < 0.6:
            self._group = ClassicSteps(source, versions, waits=waits, slots=range(2))
        else:
            self._group = ConsumerSteps(
                source, versions, waits=waits, slots=range(2), assignor="range"
            )

    def make(self, length: int) -> list[Step]:
        """Make a sequence of about this many steps."""
        transactions, group = self._transactions, self._group
        steps = group.enter_all()
        steps += [transactions.init(slot) for slot in transactions.slots]
        again = group.round if isinstance(group, ClassicSteps) else group.rounds
        while len(steps) < length:
            steps += self.choose(
                [
                    (6, transactions.transaction),
                    (8, transactions.commit_offsets),
                    (2, transactions.add_offsets),
                    (4, transactions.one_end),
                    (2, transactions.one_init),
                    (3, transactions.fetch_offsets),
                    (2, transactions.describe),
                    (4, again),
                    (2, group.one_heartbeat),
                    (2, group.leave),
                    (3, group.commit),
                    (2, group.fetch_offsets),
                    (1, self._delete),
                    (4, self.wait),
                ]
            )
        return [*steps, *group.probe(), *transactions.probe()]

    def _delete(self) -> list[Step]:
        """Delete the group, or offsets of it."""
        return self.choose([(1, self._group.delete_offsets), (1, self._group.delete_group)])

    def _member(self, slot: int) -> dict[str, Any]:
        """Who commits offsets: a member of the group, seldom with another generation."""
        group = self._group
        member = group.slot()
        if isinstance(group, ClassicSteps):
            generation: Any = group.generation()
            return {
                "member": member,
                "who": group.who(),
                "generation": generation,
                "instance": group.instance(member),
            }
        generation = self.source.choice(("+0",) * 5 + ("+1", "-1"))
        return {"member": member, "who": "own", "generation": generation, "instance": None}
