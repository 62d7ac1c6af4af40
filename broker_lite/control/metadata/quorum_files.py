"""The small files that Kafka has next to the metadata log; a lost one is written again.

`partition.metadata` says that a directory belongs to the metadata log. `quorum-state` names the
leader. `bootstrap.checkpoint`, in the data directory, has the features that a new cluster starts
with. The metadata log has all of this, too. So if one of the files is lost or damaged, it is
written again, with one line in the broker's log. Kafka does not start if one is damaged.

Source: KafkaRaftLog, FileQuorumStateStore, BootstrapDirectory; compared with a Kafka 4.3.1.
"""

import json
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from broker_lite.control.metadata.metadata_batches import (
    SNAPSHOT_FOOTER,
    SNAPSHOT_HEADER,
    feature_records,
    make_batch,
    make_control_batch,
)
from broker_lite.control.metadata.metadata_records import USER_SCRAM_CREDENTIAL, MetadataRecord
from broker_lite.control.metadata.metadata_snapshot import snapshot_batches
from broker_lite.control.metadata.topic_names import METADATA_TOPIC_ID
from broker_lite.errors import BrokerError, KafkaStorageError
from broker_lite.log.directory.partitions import claimed_topic_id
from broker_lite.log.files.checkpoints import (
    PARTITION_METADATA_FILE,
    CorruptCheckpoint,
    format_partition_metadata,
    format_uuid,
    read_file,
    replace_file,
)
from broker_lite.log.files.open_file import sync_file, write_file
from broker_lite.wire import DecodeError, messages

BOOTSTRAP_FILE: Final = "bootstrap.checkpoint"
QUORUM_STATE_FILE: Final = "quorum-state"

_log = logging.getLogger("broker_lite.control")


def claim_directory(directory: str) -> None:
    """Check that a directory belongs to the metadata log; write partition.metadata if it is lost.

    Raises:
        KafkaStorageError: the directory belongs to another topic, which Kafka refuses, too; or the
            file cannot be read or written.

    See: S-75.
    """
    stored = claimed_topic_id(directory)
    if stored == METADATA_TOPIC_ID:
        return
    path = Path(directory, PARTITION_METADATA_FILE)
    if stored is not None:
        raise KafkaStorageError(
            f"{path} has topic id {format_uuid(stored)}, which is not the metadata log's: remove it"
            " if the log next to it belongs to this cluster"
        )
    try:
        replace_file(path, format_partition_metadata(METADATA_TOPIC_ID))
    except OSError as error:
        raise KafkaStorageError from error


def tell_of_quorum_state(directory: str, node_id: int) -> None:
    """Log a warning if quorum-state is lost or another node's, before it is written again.

    Raises:
        KafkaStorageError: the file exists, but cannot be read.
    """
    path = Path(directory, QUORUM_STATE_FILE)
    try:
        fault = _fault_of(read_file(path), node_id)
    except CorruptCheckpoint as error:
        fault = str(error)
    except OSError as error:
        raise KafkaStorageError from error
    if fault is not None:
        _log.warning("quorum-state is recreated path=%s reason=%s", path, fault)


def _fault_of(text: str | None, node_id: int) -> str | None:
    if text is None:
        return "it is missing"
    try:
        state = json.loads(text)
    except ValueError:
        state = None
    if not isinstance(state, dict) or "leaderEpoch" not in state:
        return "it names no leader epoch"
    # at kraft.version 1 the file has no voters, because the log has them
    voters = state.get("currentVoters") or [{"voterId": node_id}]
    if voters != [{"voterId": node_id}]:
        return f"it has other voters than node {node_id}"
    return None


def write_quorum_state(directory: str, node_id: int, leader_epoch: int) -> None:
    """Write the leader to quorum-state, in Kafka's format for kraft.version 0.

    It needs no fsync: the log has the same data, and recovery does not use the file.

    Raises:
        KafkaStorageError: the file was not written.
    """
    state = {
        "clusterId": "",
        "leaderId": node_id,
        "leaderEpoch": leader_epoch,
        "votedId": -1,
        "appliedOffset": 0,
        "currentVoters": [{"voterId": node_id}],
        "data_version": 0,
    }
    text = json.dumps(state, separators=(",", ":"))
    try:
        write_file(f"{directory}/{QUORUM_STATE_FILE}", text.encode())
    except OSError as error:
        raise KafkaStorageError from error


def mend_bootstrap_checkpoint(data_dir: Path, features: Mapping[str, int], *, now_ms: int) -> None:
    """Write the bootstrap checkpoint of an existing cluster again if it is lost, with a warning.

    Raises:
        KafkaStorageError: the file exists, but cannot be read; or it cannot be written.
    """
    path = data_dir / BOOTSTRAP_FILE
    try:
        for _ in snapshot_batches(path.read_bytes()):
            continue
    except FileNotFoundError:
        reason = "it is missing"
    except (BrokerError, DecodeError) as error:
        reason = str(error)
    except OSError as error:
        raise KafkaStorageError from error
    else:
        return
    _log.warning("bootstrap.checkpoint is recreated path=%s reason=%s", path, reason)
    write_bootstrap_checkpoint(data_dir, features, now_ms=now_ms)


def bootstrap_users(data_dir: Path) -> list[MetadataRecord]:
    """Return the records of SCRAM users in the bootstrap checkpoint of a new cluster.

    kafka-storage, or that of broker-lite, has written them with --add-scram.

    Raises:
        KafkaStorageError: the file exists, but cannot be read; or it is damaged.
    """
    try:
        batches = list(snapshot_batches((data_dir / BOOTSTRAP_FILE).read_bytes()))
    except FileNotFoundError:
        return []
    except (OSError, BrokerError, DecodeError) as error:
        raise KafkaStorageError(f"{data_dir / BOOTSTRAP_FILE}: {error}") from error
    return [one for records in batches for one in records if one.api_key == USER_SCRAM_CREDENTIAL]


def write_bootstrap_checkpoint(
    data_dir: Path,
    features: Mapping[str, int],
    users: Sequence[MetadataRecord] = (),
    *,
    now_ms: int,
) -> None:
    """Write the snapshot with which Kafka would start a new cluster with these features and users.

    Raises:
        KafkaStorageError: the file was not written.
    """
    header = messages.SnapshotHeaderRecord.encode(messages.SnapshotHeaderRecord(), 0)
    footer = messages.SnapshotFooterRecord.encode(messages.SnapshotFooterRecord(), 0)
    records = [*feature_records(features), *users]
    content = b"".join(
        (
            make_control_batch(SNAPSHOT_HEADER, header, now_ms, base_offset=0),
            make_batch(records, now_ms, base_offset=1),
            make_control_batch(SNAPSHOT_FOOTER, footer, now_ms, base_offset=1 + len(records)),
        )
    )
    path = str(data_dir / BOOTSTRAP_FILE)
    try:
        write_file(path, content)
        sync_file(path)
    except OSError as error:
        raise KafkaStorageError from error
