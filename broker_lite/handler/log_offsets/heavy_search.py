"""Search a large batch for a record with a timestamp, in a thread."""

from typing import Final, NamedTuple

from anyio import to_thread

from broker_lite.errors import BrokerError, KafkaStorageError
from broker_lite.handler.context import CloseConnection
from broker_lite.log.timestamps import HeavyBatch, TimestampOffset
from broker_lite.record.codecs.decompressed import Bounds
from broker_lite.record.stopping import Stop, WorkStopped


class Searched(NamedTuple):
    """What the search of a partition has found so far.

    Attributes:
        from_offset: the records below this offset were searched.
        found: the record that was found among them.
        error: the error of the search.
    """

    from_offset: int = 0
    found: TimestampOffset | None = None
    error: BrokerError | None = None


NOT_YET: Final = Searched()


async def search_heavy(heavy: HeavyBatch, stop: Stop) -> Searched:
    """Search a batch in a worker thread.

    Raises:
        CloseConnection: the search was stopped.
    """
    outcome = await to_thread.run_sync(_outcome, heavy, Bounds(stop=stop))
    if isinstance(outcome, WorkStopped):
        raise CloseConnection("the search of a batch was stopped")
    return outcome


def _outcome(heavy: HeavyBatch, bounds: Bounds) -> Searched | WorkStopped:
    """Return an error as a value: the thread would keep a raised one, with all bytes it read."""
    try:
        found = heavy.candidate.search_within(bounds)
    except WorkStopped as stopped:
        return stopped.with_traceback(None)
    except BrokerError as error:
        return Searched(error=error.with_traceback(None))
    except OSError:
        return Searched(error=KafkaStorageError())
    return Searched(heavy.next_offset, found)
