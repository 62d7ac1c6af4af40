"""Snapshots: the state of a broker under a name, to go back to."""

import re
import shutil
from pathlib import Path
from typing import Final

import msgspec
from anyio import to_thread

from broker_lite.log.directory.snapshots import (
    is_being_cleaned,
    remove_folder_if_empty,
    snapshots_of,
)
from broker_lite.server.life import Life
from broker_lite.server.orders import Restore
from broker_lite.testbench.alone import check_is_alone
from broker_lite.testbench.control.resource import Call, Done, Resource
from broker_lite.testbench.errors import ControlError
from broker_lite.testbench.snapshots import save

_BAD_REQUEST: Final = 400
_NOT_FOUND: Final = 404
_CONFLICT: Final = 409
_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,99}")
_SNAPSHOTS_MAX: Final = 1000
_CLEANING_MS_MAX: Final = 10_000
_MS_PER_NS: Final = 1_000_000


class SnapshotView(msgspec.Struct, kw_only=True):
    """A snapshot.

    Attributes:
        name: of it.
        saved_ms: when it was saved, since 1970.
    """

    name: str
    saved_ms: int


async def list_snapshots(call: Call) -> list[SnapshotView]:
    """List the snapshots, in the order of their names."""
    return [_view(path) for path in _all(call.bench.life)]


async def save_snapshot(call: Call) -> SnapshotView:
    """Save the state of the broker under a name: records, groups, transactions, configs, users.

    One of the same name is replaced. Faults, the journal, the clock's steps and the states of
    brokers are no part of it. Clients stay connected, and no request is handled while it is saved.
    """
    life, name = call.bench.life, call.path["name"]
    if _NAME.fullmatch(name) is None or name.endswith(".unfinished"):
        text = f"{name!r} is no name of a snapshot: up to 100 letters, digits, '.', '_' and '-'"
        raise ControlError(_BAD_REQUEST, text)
    check_is_alone(life, "save a snapshot")
    there = {path.name for path in _all(life)}
    if name not in there and len(there) >= _SNAPSHOTS_MAX:
        raise ControlError(_CONFLICT, f"there are {_SNAPSHOTS_MAX} snapshots already")
    await call.bench.waits.until(
        lambda: is_being_cleaned(life.cluster.logs),
        lambda is_busy: not is_busy,
        _CLEANING_MS_MAX,
        "the compaction of logs",
    )
    return _view(save(life, name))


async def restore_snapshot(call: Call) -> Done:
    """Begin anew with the state of a snapshot; returns when the broker is ready again.

    It is a reset with other data: connections are closed, clients connect again.
    """
    bench = call.bench
    path = _found(bench.life, call.path["name"])
    bench.life.order(Restore(path))
    await bench.next_life()
    return Done()


async def delete_snapshot(call: Call) -> Done:
    """Remove a snapshot; with the last one, the folder of snapshots goes, too."""
    path = _found(call.bench.life, call.path["name"])
    # renamed first, so that nobody restores a part of it
    gone = path.with_name(path.name + ".unfinished")
    await to_thread.run_sync(lambda: shutil.rmtree(gone, ignore_errors=True))
    path.rename(gone)
    await to_thread.run_sync(lambda: shutil.rmtree(gone, ignore_errors=True))
    remove_folder_if_empty(call.bench.life.cluster.logs.data_dir)
    return Done()


def _all(life: Life) -> list[Path]:
    return snapshots_of(life.cluster.logs.data_dir)


def _found(life: Life, name: str) -> Path:
    for path in _all(life):
        if path.name == name:
            return path
    raise ControlError(_NOT_FOUND, f"there is no snapshot {name!r}")


def _view(path: Path) -> SnapshotView:
    return SnapshotView(name=path.name, saved_ms=path.stat().st_mtime_ns // _MS_PER_NS)


RESOURCES = (
    Resource("GET", "/v1/snapshots", list_snapshots, answer=list[SnapshotView]),
    Resource("PUT", "/v1/snapshots/{name}", save_snapshot, answer=SnapshotView),
    Resource("POST", "/v1/snapshots/{name}/restore", restore_snapshot),
    Resource("DELETE", "/v1/snapshots/{name}", delete_snapshot),
)
