"""Clients at processes of which one hangs and goes on. See: C-26."""

import pytest

from tests.conformance.cluster.scene import LONG_MS, Scene, clients
from tests.conformance.processes.conftest import further_processes

pytestmark = [pytest.mark.client, pytest.mark.slow]

REQUEST_MS = 2000
"""Shorter than a process hangs here, so that requests are sent again."""
AIOKAFKA_REQUEST_MS = 15_000
"""aiokafka loses a batch that is this old when its partition has no leader."""


@clients("confluent", "aiokafka", "java", "franz")
def test_c_26_a_load_goes_on_after_processes_that_hang(scene: Scene) -> None:
    scene.create()
    request_ms = AIOKAFKA_REQUEST_MS if scene.client.name == "aiokafka" else REQUEST_MS
    writer = scene.loaded(request_ms=request_ms, delivery_ms=LONG_MS)
    for process in further_processes(scene.cluster):
        before = fenced(scene)
        process.suspend()
        scene.programs.wait_until(lambda before=before: fenced(scene) > before, "it is fenced")  # type: ignore[misc]
        process.resume()
        scene.progress(writer)
    scene.finish(writer)


def fenced(scene: Scene) -> int:
    """How often a broker was fenced for the silence of its process."""
    return scene.cluster.log.count("process is silent, its broker is fenced")
