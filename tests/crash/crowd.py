"""All who use a broker that crashes: told when to begin and to end, and asked what they know."""

import random
from typing import Final

from tests.crash.keyed import KeyedProducer, broken_of_keyed, broken_of_keyed_transactions
from tests.crash.promises import (
    broken_of_producers,
    broken_of_readers,
    broken_of_topics,
    broken_of_transactions,
)
from tests.crash.users import (
    PARTITIONS,
    GroupReader,
    IdempotentProducer,
    TopicMaker,
    TransactionalProducer,
    User,
)
from tests.support.raw_client import RawClient

READERS: Final = 2


class Crowd:
    """Who uses a broker."""

    def __init__(self, address: tuple[str, int], source: random.Random) -> None:
        bootstrap = f"{address[0]}:{address[1]}"
        self._producers = [IdempotentProducer(bootstrap, each) for each in range(PARTITIONS)]
        self._writers = [
            TransactionalProducer(bootstrap, each, random.Random(source.random()))
            for each in range(PARTITIONS)
        ]
        self._readers = [GroupReader(bootstrap) for _ in range(READERS)]
        self._keyed = [KeyedProducer(bootstrap, each) for each in range(PARTITIONS)]
        self._maker = TopicMaker(*address)
        self._users: list[User] = [
            *(*self._producers, *self._keyed, *self._writers, *self._readers, self._maker),
        ]
        # The records before these offsets were all there after an earlier crash.
        self._looked_at: dict[int, int] = {}

    def start(self) -> None:
        """Have all begin."""
        for user in self._users:
            user.start()

    def stop(self) -> None:
        """Tell all to finish what is under way."""
        for user in self._users:
            user.stop()

    def finish(self) -> None:
        """Have all finish what is under way."""
        self.stop()
        for user in self._users:
            user.join()

    def progress(self) -> int:
        """A number that rises with all that was acknowledged to producers."""
        return self.records() + self.keyed() + self.transactions()

    def faults(self, port: int, *, is_over: bool = False) -> list[str]:
        """Compare what they were promised with what a broker has; in the end, with all of it."""
        faults = [user.fault for user in self._users if user.fault is not None]
        known = {each.partition: len(each.acknowledged) for each in self._producers}
        first = {} if is_over else self._looked_at
        try:
            with RawClient("127.0.0.1", port, timeout_s=30) as client:
                faults += broken_of_producers(client, self._producers, first)
                faults += broken_of_transactions(client, self._writers, is_over=is_over)
                faults += broken_of_keyed(client, self._keyed)
                faults += broken_of_keyed_transactions(client, self._writers)
                faults += broken_of_readers(client, self._readers)
                faults += broken_of_topics(client, self._maker)
        except AssertionError as error:
            faults.append(str(error))
        self._looked_at = known
        return faults

    def records(self) -> int:
        """How many records without keys were acknowledged."""
        return sum(len(each.acknowledged) for each in self._producers)

    def keyed(self) -> int:
        """How many records with keys were acknowledged."""
        return sum(len(each.acknowledged) for each in self._keyed)

    def transactions(self) -> int:
        """How many transactions were committed."""
        return sum(len(each.committed) for each in self._writers)

    def hung(self) -> int:
        """How often a client hung, by a fault of its library, and another took its place."""
        return sum(each.hung for each in self._writers)

    def read(self) -> int:
        """How many records the members of the group were given."""
        return sum(each.seen for each in self._readers)
