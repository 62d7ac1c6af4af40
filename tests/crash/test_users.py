"""What the users of a broker that crashes note of their own processes."""

import random
import sys

from tests.crash.users import TransactionalProducer

HANGS_ONCE = """
import os, signal, sys
first = int(sys.argv[4])
print("begin", flush=True)
if first:
    print("write", first, first + 3, flush=True)
    print("aborted", flush=True)
    sys.stdin.read()
    print("begin", flush=True)
    print("write", first + 3, first + 5, flush=True)
else:
    print("write 0 2", flush=True)
    print("committed", flush=True)
    print("begin", flush=True)
    os.kill(os.getpid(), signal.SIGALRM)
"""


class _Producer(TransactionalProducer):
    program = (sys.executable, "-c", HANGS_ONCE)


class _Broken(TransactionalProducer):
    program = (sys.executable, "-c", "print('begin'); print('write 0 2'); raise SystemExit(3)")


def test_another_process_goes_on_where_one_hung() -> None:
    producer = _Producer("nobody:1", 0, random.Random(1))
    producer.start()
    while not producer.aborted:
        assert producer.fault is None
    producer.stop()
    producer.join()
    assert producer.fault is None
    assert producer.hung == 1
    assert (producer.committed, producer.aborted) == ([[0, 1]], [[2, 3, 4]])
    assert producer.unknown == [[5, 6]]


def test_a_process_that_fails_is_a_fault() -> None:
    producer = _Broken("nobody:1", 1, random.Random(1))
    producer.start()
    producer.join()
    assert producer.fault == "writer-1 ended by 3 after ['write', '0', '2']"
    assert producer.unknown == [[0, 1]]
