"""One broker, one port, no configuration: clients on the host and in other containers use it."""

import subprocess

from confluent_kafka import Producer

from tests.support.docker import Container

CLIENT_TIMEOUT_S = 30


def test_host_and_second_container(image: str, client_image: str, network: str, port: int) -> None:
    options = (
        *(f"--network={network}", "--network-alias=broker", f"--publish=127.0.0.1:{port}:{port}"),
        f"--env=KAFKA_LISTENERS=PLAINTEXT://:{port}",
    )
    with Container(options=options, host_port=port) as container:
        container.wait_for_answer()
        producer = Producer({"bootstrap.servers": f"localhost:{port}"})
        producer.produce("greetings", key="from", value="the host")
        assert producer.flush(CLIENT_TIMEOUT_S) == 0

        def kcat(*arguments: str, text: str | None = None) -> str:
            command = ["docker", "run", "--rm", "--interactive", f"--network={network}"]
            command += [client_image, "-b", f"broker:{port}", *arguments]
            return subprocess.run(
                command, input=text, stdout=subprocess.PIPE, text=True, timeout=60, check=True
            ).stdout

        kcat("-P", "-t", "greetings", "-K:", text="from:a second container\n")
        assert kcat("-C", "-t", "greetings", "-e", "-q", "-K:").splitlines() == [
            "from:the host",
            "from:a second container",
        ]
