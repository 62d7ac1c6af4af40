"""The profiles of configs/ are in the image, for a container's flags."""

from tests.support.docker import Container, free_port
from tests.support.raw_client import RawClient

METADATA = 3


def test_a_profile_of_the_image(image: str) -> None:
    port = free_port()
    with Container(
        *("--config", "/etc/broker-lite/kafka-2.8.toml"),
        options=(f"--publish=127.0.0.1:{port}:9092",),
        host_port=port,
    ) as container:
        container.wait_for_answer()
        with RawClient("127.0.0.1", port) as client:
            offered = {
                row.api_key: row.max_version for row in client.call("ApiVersions", 2).api_keys
            }
        assert offered[METADATA] == 11
