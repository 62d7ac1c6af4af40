"""What is made of clients' metrics for Prometheus, whatever clients push."""

from collections.abc import Iterable, Mapping
from itertools import count

import pytest

from broker_lite.control.telemetry.clients import Identity
from broker_lite.control.telemetry.series import Point, Pushed
from broker_lite.control.telemetry.subscription import Configured
from broker_lite.control.telemetry.telemetry import Telemetry
from broker_lite.testbench import client_metrics as client_metrics_module
from broker_lite.testbench.client_metrics import LEFT_OUT, TEXT_BYTES_MAX, client_metrics
from broker_lite.testbench.metrics import render
from tests.support.subscribed import subscribe
from tests.testbench.conftest import Others

ME = Identity(1, "app", "soft", "1.2", "127.0.0.1", 5000, 7)
NOW_MS = 1_700_000_000_000
pytestmark = pytest.mark.anyio


class Scene:
    """Clients that have pushed something."""

    def __init__(self) -> None:
        ids = count(1)
        self.telemetry = Telemetry(
            Configured(lambda: 0, lambda: (), {}.__getitem__),
            lambda: next(ids).to_bytes(16, "little"),
        )

    def push(
        self,
        points: Iterable[Point],
        resource: Mapping[str, str] | None = None,
        identity: Identity = ME,
    ) -> None:
        """Let a further client push."""
        _, client = subscribe(self.telemetry, identity, bytes(16), NOW_MS)
        pushed = Pushed(resource or {}, points, 0)
        self.telemetry.take(client, pushed, 1, NOW_MS, is_terminating=False)

    async def told(self, *taken: str) -> tuple[list[tuple[str, Mapping[str, object], float]], int]:
        """The samples of clients, without what is the same in all, and how many are left out."""
        *metrics, last = await client_metrics(self.telemetry, NOW_MS, taken)
        assert last.name == LEFT_OUT
        ((_, left_out),) = last.samples
        return [
            (metric.name, {name: labels[name] for name in [*labels][5:]}, value)
            for metric in metrics
            for labels, value in metric.samples
        ], int(left_out)

    async def text(self) -> str:
        """All of it as it is written."""
        return await render(await client_metrics(self.telemetry, NOW_MS))


@pytest.fixture
def scene() -> Scene:
    return Scene()


async def test_names_and_labels(scene: Scene) -> None:
    scene.push([Point("a.b", (("topic", "t"),), 1.5), Point("c", (), 2, is_counter=True)])
    told, left_out = await scene.told()
    assert told == [("a_b", {"topic": "t"}, 1.5), ("c_total", {}, 2)]
    assert left_out == 0
    told_id = "AQAAAAAAAAAAAAAAAAAAAA"
    common = (
        f'client_id="app",client_instance_id="{told_id}",client_software_name="soft",'
        'client_software_version="1.2",broker="1"'
    )
    assert f'a_b{{{common},topic="t"}} 1.5\n' in await scene.text()


async def test_a_client_says_nothing_else_about_who_it_is(scene: Scene) -> None:
    resource = {"client_id": "other", "broker": "9", "group_id": "g"}
    scene.push([Point("a", (("group.id", "h"), ("client_id", "x")), 1)], resource)
    (sample,), _ = await scene.told()
    assert sample[1] == {
        "exported_client_id": "other",
        "exported_broker": "9",
        "group_id": "g",
        "exported_group_id": "h",
        "exported_exported_client_id": "x",
    }
    assert 'client_id="app",' in await scene.text()


async def test_labels_that_prometheus_keeps_for_itself(scene: Scene) -> None:
    scene.push([Point("a", (("__name__", "x"), ("--b", "y")), 1)], {"__r": "z"})
    (sample,), _ = await scene.told()
    assert sample[1] == {"exported___r": "z", "exported___name__": "x", "exported___b": "y"}


async def test_names_that_are_taken(scene: Scene) -> None:
    own = Point("process.cpu.seconds", (), 1, is_counter=True)
    scene.push([own, Point(LEFT_OUT, (), 1), Point("a", (), 1)])
    assert await scene.told("process_cpu_seconds_total") == ([("a", {}, 1)], 2)


async def test_a_name_of_two_kinds(scene: Scene) -> None:
    scene.push([Point("a_total", (), 1), Point("a", (), 2, is_counter=True)])
    assert await scene.told() == ([("a_total", {}, 1)], 1)


async def test_samples_that_only_other_signs_tell_apart(scene: Scene) -> None:
    points = [
        Point("a.b", (("x.y", "1"),), 1),
        Point("a-b", (("x-y", "1"),), 2),
        Point("a_b", (("x_y", "2"),), 3),
    ]
    scene.push(points)
    scene.push(points[:1])
    told, left_out = await scene.told()
    assert [value for _, _, value in told] == [1, 3, 1]
    assert left_out == 1


async def test_clients_that_say_much_of_themselves(scene: Scene) -> None:
    resource = {f"{number:02}" * 50: "v" * 250 for number in range(32)}
    for _ in range(3):
        scene.push([Point(f"m{number}", (), number) for number in range(2000)], resource)
    text = await scene.text()
    assert 0.9 * TEXT_BYTES_MAX < len(text) < TEXT_BYTES_MAX + 1000
    told, left_out = await scene.told()
    assert len(told) + left_out == 6000
    assert text.endswith(f"\n{LEFT_OUT} {left_out}\n")


@pytest.mark.parametrize("sign", ["é", "\U0001f600", '"', "\\", "\n"])
async def test_the_bound_counts_bytes_as_they_are_written(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, sign: str
) -> None:
    monkeypatch.setattr(client_metrics_module, "TEXT_BYTES_MAX", 20_000)
    values = [-1.7976931348623157e308, 1 / 3, 0]
    scene.push(
        [
            Point(f"m{number}", ((f"{other}", sign * 50),), values[number % 3])
            for number in range(10)
            for other in range(10)
        ],
        {"group_id": sign * 20},
        ME._replace(client_id=sign * 30_000),
    )
    text = (await scene.text()).partition(f"# HELP {LEFT_OUT}")[0]
    assert 15_000 < len(text.encode()) <= 20_000


async def test_the_number_of_samples_is_bounded(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client_metrics_module, "SAMPLES_MAX", 3)
    for _ in range(3):
        scene.push([Point("a", (), 1), Point("b", (), 1)])
    told, left_out = await scene.told()
    assert (len(told), left_out) == (3, 3)


async def test_many_clients_let_others_run(scene: Scene, others: Others) -> None:
    for _ in range(30):
        scene.push([])
    assert await others.while_running(client_metrics(scene.telemetry, NOW_MS)) >= 30


async def test_many_series_let_others_run(scene: Scene, others: Others) -> None:
    scene.push([Point(f"m{number}", (), 1) for number in range(30)])
    assert await others.while_running(client_metrics(scene.telemetry, NOW_MS)) >= 60


async def test_clients_that_have_gone_are_not_told(scene: Scene) -> None:
    scene.push([Point("a", (), 1)])
    later_ms = NOW_MS + 900_000
    assert len(await client_metrics(scene.telemetry, later_ms)) == 1
