import pytest

from broker_lite.control.cluster.producer_id_blocks import PRODUCER_ID_BLOCK, ProducerIds
from broker_lite.errors import KafkaStorageError


def test_t15_ids_come_from_blocks_that_were_written_down() -> None:
    starts = [0, 5 * PRODUCER_ID_BLOCK]
    ids = ProducerIds(lambda: starts.pop(0))
    given = [ids.next() for _ in range(PRODUCER_ID_BLOCK + 1)]
    assert given == [*range(PRODUCER_ID_BLOCK), 5 * PRODUCER_ID_BLOCK]
    assert starts == []


def test_t15_without_a_block_there_is_no_id() -> None:
    def fail() -> int:
        raise KafkaStorageError

    ids = ProducerIds(fail)
    for _ in range(2):
        with pytest.raises(KafkaStorageError):
            ids.next()
