"""All rules over a journal.

Also tests: broker_lite.testbench.journal.lint.finding.
"""

import msgspec
import pytest

from broker_lite.handler.context import CloseConnection
from broker_lite.testbench.journal.lint.run import lint
from broker_lite.wire import messages
from broker_lite.wire.schema import catalog_by_api
from tests.testbench.journal.recorded import Client, batch, produce, produced, recording
from tests.wire.samples import Sampler

pytestmark = pytest.mark.anyio


async def test_the_worst_comes_first() -> None:
    journal = recording()
    client = Client(journal)
    for _ in range(100):
        client.send(
            messages.ProduceRequest, produce(batch(producer_id=1), acks=1), 9, produced(), at_s=1
        )
    client.send(messages.HeartbeatRequest, messages.HeartbeatRequest(member_id="m"), 4)
    found = await lint(journal, open_connections=())
    assert [each.rule for each in found] == [
        "idempotence-without-acks",
        "no-api-versions",
        "missing-close",
        "one-record-batches",
    ]
    assert [each.rule for each in await lint(journal, after=100)] == []
    msgspec.json.encode(found)


async def test_a_sound_client_has_no_findings() -> None:
    journal = recording()
    client = Client(journal)
    client.send(messages.ApiVersionsRequest, messages.ApiVersionsRequest(), 3)
    for number in range(200):
        body = produce(batch(30, producer_id=1, sequence=30 * number))
        client.send(messages.ProduceRequest, body, 9, produced())
    assert await lint(journal, open_connections=(5,)) == []


async def test_any_requests() -> None:
    journal = recording()
    for api_key in catalog_by_api("protocol", "request"):
        request, answer = messages.by_api(api_key)
        for version in range(request.min_version, request.max_version + 1):
            client = Client(journal, version)
            asked = Sampler(request.name, version, 5).encoded()
            answered = Sampler(answer.name, version, 5).encoded()
            client.send(request, asked, version, [answered])
            client.send(request, asked[: len(asked) // 2], version, [answered[:5]])
            client.send(request, b"\xff" * 20, version, CloseConnection("no"))
    assert await lint(journal, open_connections=())
