"""What a cleaning works on."""

from pathlib import Path

from broker_lite.log.cleaner.survivors import LastRecord
from broker_lite.record.control import EndTransactionMarker
from tests.log.cleaner.cleaning import CleanedLog
from tests.log.cleaner.test_offset_map import job_of
from tests.log.logs import end_transaction


def test_what_is_known_of_a_producer_s87(tmp_path: Path) -> None:
    given = CleanedLog(tmp_path)
    given.append(("a", "1"), ("b", "1"), producer=(7, 0, 0))
    job = job_of(given)
    assert job.name == "topic-0"
    assert job.last_record(7) == LastRecord(1, 0)
    assert job.last_record(8) is None
    given.log.append_control(8, 5, EndTransactionMarker(True, 0), now_ms=given.now_ms)
    assert job.last_record(8) == LastRecord(-1, 5)  # of now


def test_aborted_transactions_of_all_segments_s86(tmp_path: Path) -> None:
    given = CleanedLog(tmp_path)
    for sequence in range(3):
        given.append(("a", "1"), producer=(7, 0, sequence), transactional=True)
        end_transaction(given.log, 7, commit=False)
        if sequence < 2:
            given.roll()
    job = job_of(given)
    assert [one.first_offset for one in job.aborted_from(0)] == [0, 2, 4]
    assert [one.first_offset for one in job.aborted_from(2)] == [2, 4]
    assert [one.first_offset for one in job.aborted_from(4)] == [4]
    assert [source.end_offset for source in job.sources] == [2, 4]
    assert job.sources[0].sizes.log_bytes == given.log.segments.all[0].size_bytes
