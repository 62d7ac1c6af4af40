"""What members of a share group have acknowledged, and what not, over the end of a broker."""

import threading
from collections.abc import Callable

import pytest

from broker_lite.testing import Broker
from tests.conformance.processes.conftest import further_processes
from tests.conformance.share.scene import ShareScene, clients

pytestmark = [pytest.mark.client, pytest.mark.slow]

COUNT = 90


def stop_and_start(cluster: Broker) -> None:
    """End all processes by SIGTERM and start them again."""
    cluster.restart()


def kill_and_start(cluster: Broker) -> None:
    """End all processes by SIGKILL and start them again."""
    cluster.kill()
    cluster.restart()


def kill_one(cluster: Broker) -> None:
    """End the process that leads the records by SIGKILL; it is started again by itself."""
    (process,) = further_processes(cluster)
    process.kill()


class Work:
    """Two members that accept records, and what must be true of that.

    Attributes:
        done: the values whose acceptance the broker has acknowledged.
        unsure: those for which the answer was an error; they may be done or come again.
    """

    def __init__(self, scene: ShareScene) -> None:
        self._scene = scene
        self._members = [scene.member(name, max=3) for name in ("one", "other")]
        self.done: set[str] = set()
        self.unsure: set[str] = set()

    def go_on(self, is_enough: Callable[[], bool]) -> None:
        """Accept records until it is enough; nothing that is done may come again."""
        for member, got in self._scene.turns(*self._members):
            again = [each for each in got if each.value in self.done]
            assert not again, f"{again} were acknowledged"
            if got:
                answer = self._scene.say(member, "accept", got)
                said = self.done if answer.kind == "done" else self.unsure
                said.update(each.value for each in got)
            if is_enough():
                return


def go_on_over(scene: ShareScene, end: Callable[[Broker], None]) -> None:
    """End the broker while members work: what is done is done once, and all gets done."""
    every = {str(number) for number in range(COUNT)}
    scene.begin(sorted(every, key=int), partitions=2)
    work = Work(scene)
    work.go_on(lambda: len(work.done) >= COUNT // 10)
    ending = threading.Thread(target=end, args=[scene.cluster])
    ending.start()
    work.go_on(lambda: work.done | work.unsure == every and scene.is_done())
    ending.join()
    assert len(work.unsure) < COUNT // 10, work.unsure
    scene.programs.leave()


@pytest.mark.parametrize("end", [stop_and_start, kill_and_start])
@clients("franz")
def test_k20_k21_what_was_acknowledged_survives(
    scene: ShareScene, end: Callable[[Broker], None]
) -> None:
    go_on_over(scene, end)


@pytest.mark.parametrize("scene", [("franz", "two_processes")], indirect=True)
def test_k28_what_was_acknowledged_survives_a_process(scene: ShareScene) -> None:
    go_on_over(scene, kill_one)
