"""What a real Kafka 4.3.1 offers, kept in a file, against what is offered here by default.

`vectors/api_versions.json` was written by `python -m tests.differential.test_api_versions FILE`
from a broker of one node with `ReferenceKafka`'s settings; the test marked kafka compares it again.
"""

import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import pytest

from broker_lite.handler.offered import offered
from broker_lite.settings import DEFAULT_RELEASE
from tests.support.handler_broker import handler_broker
from tests.support.raw_client import RawClient
from tests.support.reference_kafka import ReferenceKafka
from tests.support.toolchain import require

GOLDEN: Final = Path(__file__).parent.parent / "vectors" / "api_versions.json"
NOT_OFFERED: Final = {
    "voters that come and go": {80, 81},
    "the state of share groups between brokers": {83, 84, 85, 86, 87},
}
RECEIVED: Final = {"71": [0, 0], "72": [0, 0]}
"""Client metrics: Kafka offers them where one of its reporters is a receiver; here is one."""
NOT_SERVED: Final = {"kraft.version"}


def told(response: Any) -> dict[str, Any]:
    """An answer of version 4, as JSON has it."""
    return {
        "apis": {str(one.api_key): [one.min_version, one.max_version] for one in response.api_keys},
        "supported": {
            one.name: [one.min_version, one.max_version] for one in response.supported_features
        },
        "finalized": {
            one.name: [one.min_version_level, one.max_version_level]
            for one in response.finalized_features
        },
    }


CLIENT: Final = {"client_software_name": "test", "client_software_version": "1"}


def kafka_tells(folder: Path) -> dict[str, Any]:
    with ReferenceKafka(folder) as kafka, RawClient("127.0.0.1", kafka.port) as client:
        return told(client.call("ApiVersions", 4, **CLIENT))


def test_p49_p55_we_offer_what_kafka_offers(tmp_path: Path) -> None:
    kafka = json.loads(GOLDEN.read_text("utf-8"))
    with handler_broker(tmp_path / "data") as broker:
        broker.context.apis = offered(DEFAULT_RELEASE)
        ours = told(broker.call("ApiVersions", 4, **CLIENT))
    left_out = {str(key) for keys in NOT_OFFERED.values() for key in keys}
    assert set(kafka["apis"]) - set(ours["apis"]) == left_out
    assert ours["apis"] == RECEIVED | {
        key: versions for key, versions in kafka["apis"].items() if key not in left_out
    }
    for kind in ("supported", "finalized"):
        served = {name: kafka[kind][name] for name in kafka[kind] if name not in NOT_SERVED}
        assert {name: ours[kind][name] for name in ours[kind] if name not in NOT_SERVED} == served
    assert all(ours["supported"][name] == [0, 0] for name in NOT_SERVED)


@pytest.mark.kafka
@pytest.mark.slow
def test_kafka_offers_what_it_did(tmp_path: Path) -> None:
    require("java", "mvn")
    assert kafka_tells(tmp_path / "kafka") == json.loads(GOLDEN.read_text("utf-8"))


def main(path: Path) -> None:
    """Write the golden answer."""
    with TemporaryDirectory() as folder:
        answer = kafka_tells(Path(folder))
    path.write_text(json.dumps(answer) + "\n", "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
