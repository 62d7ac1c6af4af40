"""Edited streams and batches, and what Kafka said of them; R-34 to R-37, R-76 to R-82."""

import json
from typing import Any

import pytest

from broker_lite.errors import BrokerError
from broker_lite.record.codecs.compression import decompress
from broker_lite.record.records import check_records, read_content
from tests.record.support import VECTORS, batch_of


def rows(name: str) -> list[dict[str, Any]]:
    lines = (VECTORS / name).read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines[1:]]


@pytest.mark.parametrize("codec", [1, 2, 3, 4])
def test_r_82_streams(codec: int) -> None:
    outcomes = [row for row in rows("codec_outcomes.jsonl") if row["codec"] == codec]
    assert len(outcomes) > 50
    for row in outcomes:
        found = decompress(codec, bytes.fromhex(row["hex"]), output_bytes_max=10**8)
        assert (bytes(found.data).hex(), found.failed) == (row["output"], row["failed"]), row


@pytest.mark.parametrize("reader", ["full", "partial"])
def test_r_37_batches(reader: str) -> None:
    outcomes = [row for row in rows("scan_outcomes.jsonl") if row["reader"] == reader]
    assert len(outcomes) > 200
    for row in outcomes:
        batch = batch_of(row["hex"])
        try:
            scan = check_records(batch, read_content(batch), full_reader=reader == "full")
        except BrokerError as error:
            code = int(error.code)
        else:
            code = 0
            sums = (scan.records_read, scan.max_timestamp, scan.null_keys)
            assert sums == (row["records"], row["max_timestamp"], row["null_keys"]), row
        assert code == row["error_code"], row
