"""`broker.aio.script()`: as `broker.script()`, and ended also when the test is cancelled."""

from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest
from anyio.to_thread import run_sync

from broker_lite.testing import Broker, ScriptFailed
from tests.testbench.scripts.test_run import errors
from tests.testing.test_scripts import SCRIPT, SOON

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker() as started:
        yield started


async def test_it_runs_in_the_context(broker: Broker, tmp_path: Path) -> None:
    made = broker.aio.script(SCRIPT)
    with pytest.raises(RuntimeError, match="does not run"):
        _ = made.id
    async with made as script:
        first = await run_sync(errors, broker, 12)
        await script.wait()
        await script.save(tmp_path / "s.brokerlite")
        assert script.seed == 3
    assert (await script.state())["id"] == script.id
    async with broker.aio.script(tmp_path / "s.brokerlite") as again:
        assert await run_sync(errors, broker, 12) == first
        assert (await again.record())["decisions"]
        await again.end()


async def test_it_fails(broker: Broker) -> None:
    with pytest.raises(ScriptFailed, match="rule a acted on no request"):
        async with broker.aio.script(SCRIPT, timeout=SOON):
            pass
    with pytest.raises(KeyError):
        async with broker.aio.script(SCRIPT):
            raise KeyError
    assert broker.control("GET", "/v1/scripts") == []


@pytest.mark.parametrize("at_the_end", [False, True])
async def test_it_is_ended_when_it_is_cancelled(broker: Broker, at_the_end: bool) -> None:
    with anyio.move_on_after(0.1) as scope:
        async with broker.aio.script(SCRIPT):
            if not at_the_end:
                await anyio.sleep_forever()
    assert scope.cancelled_caught
    assert await run_sync(broker.control, "GET", "/v1/scripts") == []
