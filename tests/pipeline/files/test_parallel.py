"""Reads that wait for storage at the same time."""

import threading

from pyarrow import fs

from broker_lite.pipeline.files.arrow_files import ArrowFileIO
from broker_lite.pipeline.files.file_io import LocalFileIO
from broker_lite.pipeline.files.parallel import in_parallel

REMOTE = ArrowFileIO(fs.LocalFileSystem())


def test_elsewhere_many_wait_at_a_time_and_come_in_order():
    together = threading.Barrier(25, timeout=30)

    def wait(item: int) -> int:
        together.wait()
        return item * 2

    assert in_parallel(REMOTE, wait, range(100)) == list(range(0, 200, 2))


def test_local_files_are_read_one_by_one():
    threads = in_parallel(LocalFileIO(), lambda _: threading.current_thread(), range(3))
    assert threads == [threading.current_thread()] * 3
