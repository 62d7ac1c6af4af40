"""The start scripts of Testcontainers' Kafka modules end in a broker that a client reaches."""

from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient

from tests.image.log_lines import TIMEOUT_S, wait_for_line
from tests.image.start_scripts import START_SCRIPTS, StartScript
from tests.support.docker import Container, docker


def copy_script(container: Container, case: StartScript, port: int, folder: Path) -> None:
    """Put the script into the container, as the library does it, but whole at once.

    The container runs the script as soon as it sees it, and fails while it is still being copied.
    """
    address = docker(
        "inspect", "--format={{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}", container.id
    )
    text = case.filled_in(
        HOST="localhost", PORT=str(port), HOSTNAME=container.id[:12], ADDRESS=address
    )
    if case.written_inside:
        done = container.run("sh", "-c", f"echo '{text}' > {case.path}")
        assert done.returncode == 0, done.stderr
        return
    file = folder / "script"
    file.write_text(text)
    file.chmod(0o777)
    docker("cp", str(file), f"{container.id}:{case.path}.copied")
    docker("exec", "--user=0", container.id, "mv", f"{case.path}.copied", case.path)


def use(bootstrap: str) -> str:
    """Write and read one record; return the cluster's id."""
    producer = Producer({"bootstrap.servers": bootstrap})
    producer.produce("orders", key="k", value="v")
    assert producer.flush(TIMEOUT_S) == 0
    consumer = Consumer(
        {"bootstrap.servers": bootstrap, "group.id": "g", "auto.offset.reset": "earliest"}
    )
    try:
        consumer.subscribe(["orders"])
        message = consumer.poll(TIMEOUT_S)
        assert message is not None
        assert (message.key(), message.value()) == (b"k", b"v")
    finally:
        consumer.close()
    administrator = AdminClient({"bootstrap.servers": bootstrap})
    cluster_id: str = administrator.describe_cluster().result(TIMEOUT_S).cluster_id
    return cluster_id


@pytest.mark.parametrize("case", START_SCRIPTS, ids=lambda case: case.name)
def test_a_start_script(image: str, case: StartScript, port: int, tmp_path: Path) -> None:
    with Container(*case.command, options=case.options(port)) as container:
        copy_script(container, case, port, tmp_path)
        wait_for_line(container, case.waits_for)
        cluster_id = use(f"localhost:{port}")
        assert case.cluster_id in {None, cluster_id}
        assert "rror" not in container.log, container.log
        assert "denied" not in container.log, container.log
        if case.open_port is not None:
            assert container.run("nc", "-z", "localhost", str(case.open_port)).returncode == 0
        if case.hands_signals_on:
            container.stop()
            assert container.exit_code == 0
            assert "stopping on SIGTERM" in container.log
