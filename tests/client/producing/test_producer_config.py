import pytest

from broker_lite.client.producing.producer_config import ProducerConfig
from broker_lite.errors import SettingsError
from broker_lite.record.codecs.compression import Codec


def test_defaults() -> None:
    assert ProducerConfig.read({}) == ProducerConfig()


def test_what_is_given() -> None:
    config = ProducerConfig.read(
        {
            "acks": "1",
            "compression.type": "ZSTD",
            "compression.zstd.level": "-5",
            "linger.ms": "250",
            "batch.size": "99",
            "client.id": "me",
            "partitioner.class": "whatever",
        }
    )
    assert (config.acks, config.idempotent, config.client_id) == (1, False, "me")
    assert (config.codec, config.level) == (Codec.ZSTD, -5)
    assert (config.linger_s, config.batch_bytes) == (0.25, 99)


@pytest.mark.parametrize(
    ("properties", "text"),
    [
        ({"acks": "2"}, "acks=2: must be one of"),
        ({"acks": "0", "enable.idempotence": "true"}, "an idempotent producer needs all"),
        ({"compression.type": "rar"}, "compression.type=rar"),
        ({"compression.type": "gzip", "compression.gzip.level": "0"}, "0 is not a level of gzip"),
        ({"compression.type": "lz4", "compression.lz4.level": "18"}, "18 is not a level of lz4"),
        ({"compression.type": "lz4", "compression.lz4.level": "0"}, "less than 1"),
        ({"linger.ms": "soon"}, "linger.ms=soon: not a whole number"),
    ],
)
def test_what_cannot_be(properties: dict[str, str], text: str) -> None:
    with pytest.raises(SettingsError, match=text):
        ProducerConfig.read(properties)
