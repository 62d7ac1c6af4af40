"""AlterReplicaLogDirs with one directory; more in tests/differential/test_plain.py."""

import pytest

from broker_lite.wire import messages
from tests.support.handler_broker import HandlerBroker, OpenBroker
from tests.support.several_brokers import place_topic, talk_to


@pytest.mark.parametrize("version", [1, 2])
def test_p142_a_replica_is_there_or_cannot_go(broker: HandlerBroker, version: int) -> None:
    broker.cluster.create_topic("t")
    types = messages.AlterReplicaLogDirsRequest
    dirs = [
        types.AlterReplicaLogDir(
            path=path, topics=[types.AlterReplicaLogDirTopic(name=name, partitions=[0])]
        )
        for path, name in (
            (str(broker.cluster.logs.data_dir.absolute()), "t"),
            (str(broker.cluster.logs.data_dir.absolute()), "u"),
            ("/elsewhere", "v"),
        )
    ]
    answer = broker.call("AlterReplicaLogDirs", version, dirs=dirs)
    found = {one.topic_name: one.partitions[0].error_code for one in answer.results}
    assert found == {"t": 0, "u": 3, "v": 57}


def test_p142_a_replica_that_another_broker_has(open_broker: OpenBroker) -> None:
    broker = talk_to(open_broker(broker_lite_brokers="2"), 2)
    place_topic(broker.cluster, "t", [1], [2])
    types = messages.AlterReplicaLogDirsRequest
    topic = types.AlterReplicaLogDirTopic(name="t", partitions=[0, 1])
    path = str(broker.cluster.logs.data_dir.absolute())
    directory = types.AlterReplicaLogDir(path=path, topics=[topic])
    (result,) = broker.call("AlterReplicaLogDirs", 2, dirs=[directory]).results
    codes = {one.partition_index: one.error_code for one in result.partitions}
    assert codes == {0: 9, 1: 0}
