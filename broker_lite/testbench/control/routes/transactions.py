"""Transactions: what DescribeTransactions tells, aborts on command, waits."""

from typing import Final, Literal

import anyio
import msgspec

from broker_lite.coordinator.transactions.terms import Terms
from broker_lite.coordinator.transactions.transaction import Transaction
from broker_lite.errors import ErrorCode
from broker_lite.server.life import Life
from broker_lite.testbench.bounds import Limit, TimeoutMs
from broker_lite.testbench.control.resource import Call, Resource
from broker_lite.testbench.coordinated import check_all_coordinated, check_coordinated
from broker_lite.testbench.errors import ControlError

_BAD_REQUEST: Final = 400
_NOT_FOUND: Final = 404
_CONFLICT: Final = 409
_RETRY_S: Final = 0.005
_ABORT_S_MAX: Final = 10

State = Literal[
    "Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort"
]


class TransactionPage(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Which transactional ids are listed.

    Attributes:
        state: only those in this state.
        after: only ids behind this one.
        limit: at most so many.
    """

    state: State | None = None
    after: str = ""
    limit: Limit = 1000


class TransactionView(msgspec.Struct, kw_only=True):
    """A transactional id, as DescribeTransactions tells it.

    Attributes:
        id: the transactional id.
        state: in Kafka's words.
        coordinator: the broker; -1 for none.
        producer_id: of the producer that has the id.
        producer_epoch: of that producer.
        timeout_ms: of its transactions.
        started_ms: when the present transaction began; -1 without one.
        topics: the partitions of the present transaction, by topic.
    """

    id: str
    state: str
    coordinator: int
    producer_id: int
    producer_epoch: int
    timeout_ms: int
    started_ms: int
    topics: dict[str, list[int]]


class TransactionWait(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """What a transactional id has to be like.

    Attributes:
        state: in Kafka's words; any if it is left out.
        timeout_ms: how long to wait.
    """

    state: State | None = None
    timeout_ms: TimeoutMs = 30_000


async def list_transactions(call: Call) -> list[TransactionView]:
    """List the transactional ids with their transactions, in the order of the ids."""
    page, life = call.query, call.bench.life
    assert isinstance(page, TransactionPage)
    check_all_coordinated(life.coordinators.transactions.topic)
    known = [
        each
        for each in life.coordinators.transactions.unreplicated.all()
        if page.state in (None, each.state.text) and each.transactional_id > page.after
    ]
    known.sort(key=lambda each: each.transactional_id)
    return [_view(life, each) for each in known[: page.limit]]


async def get_transaction(call: Call) -> TransactionView:
    """Tell the state of a transactional id, and the partitions of its transaction."""
    life = call.bench.life
    return _view(life, _found(life, call.path["id"]))


async def abort(call: Call) -> TransactionView:
    """Abort the transaction of an id, and fence its producer; returns when that is done."""
    life, transactional_id = call.bench.life, call.path["id"]
    service = life.coordinators.transactions
    before = _found(life, transactional_id)
    # transactions without a timeout have a longer one than may be asked for (T-69)
    longest_ms = life.cluster.settings.transaction_max_timeout_ms
    terms = Terms(min(before.timeout_ms, longest_ms))
    code: int = ErrorCode.NONE
    with anyio.move_on_after(_ABORT_S_MAX):
        while True:
            outcome = await service.init_producer_id(
                transactional_id,
                terms,
                expected=None,
                node_id=_leader(life, transactional_id),
            )
            code = outcome.error
            # the epoch is fenced, and the markers of the abort are being written
            if code != ErrorCode.CONCURRENT_TRANSACTIONS:
                break
            await anyio.sleep(_RETRY_S)
    if code:
        raise ControlError(
            _CONFLICT, f"transactional id {transactional_id}: {ErrorCode(code).name}"
        )
    return _view(life, _found(life, transactional_id))


async def wait_for_transaction(call: Call) -> TransactionView:
    """Wait until a transactional id is there, in a state."""
    wanted, bench, transactional_id = call.body, call.bench, call.path["id"]
    assert isinstance(wanted, TransactionWait)
    return await bench.waits.until(
        lambda: _view(bench.life, _found(bench.life, transactional_id)),
        lambda view: wanted.state in (None, view.state),
        wanted.timeout_ms,
        f"transactional id {transactional_id}",
    )


def _found(life: Life, transactional_id: str) -> Transaction:
    service = life.coordinators.transactions
    check_coordinated(service.topic, transactional_id)
    found = service.unreplicated.get(transactional_id)
    if found is None:
        raise ControlError(_NOT_FOUND, f"there is no transactional id {transactional_id!r}")
    return found


def _leader(life: Life, transactional_id: str) -> int:
    topic = life.coordinators.transactions.topic
    return topic.leader(topic.partition_of(transactional_id))


def _view(life: Life, found: Transaction) -> TransactionView:
    topics: dict[str, list[int]] = {}
    for topic, partition in sorted(found.partitions):
        topics.setdefault(topic, []).append(partition)
    return TransactionView(
        id=found.transactional_id,
        state=found.state.text,
        coordinator=_leader(life, found.transactional_id),
        producer_id=found.producer_id,
        producer_epoch=found.producer_epoch,
        timeout_ms=found.timeout_ms,
        started_ms=found.started_ms,
        topics=topics,
    )


RESOURCES = (
    Resource(
        "GET",
        "/v1/transactions",
        list_transactions,
        answer=list[TransactionView],
        query=TransactionPage,
    ),
    Resource("GET", "/v1/transactions/{id}", get_transaction, answer=TransactionView),
    Resource("POST", "/v1/transactions/{id}/abort", abort, answer=TransactionView),
    Resource(
        "POST",
        "/v1/transactions/{id}/wait",
        wait_for_transaction,
        answer=TransactionView,
        body=TransactionWait,
    ),
)
