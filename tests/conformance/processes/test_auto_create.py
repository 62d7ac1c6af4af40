"""Topics that are made because a client uses them, whichever process it asks. See: P-85."""

import pytest

from tests.conformance.cluster.scene import Scene, clients
from tests.conformance.processes.conftest import PROCESSES

pytestmark = [pytest.mark.client, pytest.mark.slow]


@clients("confluent", "aiokafka", "kafka_python", "java", "sarama")
@pytest.mark.parametrize("through", range(PROCESSES))
def test_p_85_a_topic_is_there_when_it_is_first_written_to(scene: Scene, through: int) -> None:
    address = scene.cluster.bootstrap.split(",")[through]
    writer = scene.writer(bootstrap=address)
    for value in ("a", "b"):
        writer.do("send", 0, value)
    assert [one.value for one in scene.cluster.records(scene.topic)] == [b"a", b"b"]
    writer.leave()
