"""Share partitions are released by and by, but in time for who uses them."""

import pytest

from broker_lite.control.coordinators import share_releases
from broker_lite.control.coordinators.alarm import Alarm
from broker_lite.control.coordinators.background import Background
from broker_lite.control.coordinators.share_releases import ShareReleases, keys_among
from broker_lite.coordinator.share_records.sessions import SharedPartition
from broker_lite.coordinator.share_records.states import ShareKey

KEYS = [ShareKey("g", b"t" * 16, partition) for partition in range(6)]


class Scene:
    def __init__(self) -> None:
        self.done: list[tuple[int, str | None]] = []
        self.background = Background(Alarm(), lambda: 0.0)
        self.releases = ShareReleases(self.background, self._release)

    def _release(self, key: ShareKey, member_id: str | None) -> None:
        self.done.append((key.partition, member_id))


@pytest.fixture(autouse=True)
def two_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(share_releases, "_AT_ONCE", 2)


def test_k16_few_are_released_at_once() -> None:
    scene = Scene()
    scene.releases.add([], "m")
    for _ in range(2):
        scene.releases.add(KEYS[:2], "m")
    assert scene.done == [(0, "m"), (1, "m")] * 2
    assert scene.background.next_deadline_ms() is None


def test_k16_many_are_released_in_the_background() -> None:
    scene = Scene()
    scene.releases.add(KEYS, "m")
    assert len(scene.done) == 2
    scene.releases.add(KEYS[:1], "n")  # one job does it all
    assert len(scene.done) == 2
    scene.background.on_time()
    assert [index for index, _ in scene.done] == [0, 1, 2, 3, 4, 5, 0]
    assert scene.background.next_deadline_ms() is None
    scene.releases.add(KEYS[:1], "m")
    assert len(scene.done) == 8


def test_k26_what_has_to_be_done_of_one_is_done_in_order_when_it_is_used() -> None:
    scene = Scene()
    scene.releases.add(KEYS[:5], "m")
    scene.releases.add(KEYS, None)
    scene.releases.catch_up(KEYS[4])
    assert scene.done[2:] == [(4, "m"), (4, None)]
    scene.releases.catch_up(KEYS[4])
    scene.background.on_time()
    assert scene.done[4:8] == [(2, "m"), (2, None), (3, "m"), (3, None)]
    assert scene.done[8:] == [(0, None), (1, None), (5, None)]


@pytest.mark.parametrize("missing", [0, 100])
def test_k16_only_what_is_held_is_released(missing: int) -> None:
    """The session may have many more partitions than exist, or fewer than others have."""
    session = {
        SharedPartition(b"t" * 16, index): True for index in (*range(2), *range(9, 9 + missing))
    }
    held = dict.fromkeys([*KEYS, ShareKey("h", b"t" * 16, 1), ShareKey("g", b"u" * 16, 0)])
    assert keys_among(held, "g", session) == KEYS[:2]
