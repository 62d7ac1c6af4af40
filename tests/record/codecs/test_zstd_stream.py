"""R-81.

Also tests: broker_lite.record.codecs.zstd_contexts.
"""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
import zstandard

from broker_lite.record.codecs import zstd_contexts
from broker_lite.record.codecs.compression import decompress
from broker_lite.record.codecs.zstd_stream import compress

DATA = b"some data " * 50
FRAME = compress(DATA, 3)
SKIPPABLE = bytes.fromhex("5a2a4d18" "03000000" "aabbcc")  # fmt: skip


def read(stream: bytes) -> tuple[bytes, bool, bool]:
    found = decompress(4, stream, output_bytes_max=10**8)
    return bytes(found.data), found.failed, found.limit_exceeded


@pytest.mark.parametrize("level", [-5, 1, 3, 22])
def test_the_writer(level: int) -> None:
    frame = compress(DATA, level)
    parameters = zstandard.get_frame_parameters(frame)
    assert parameters.content_size == zstandard.CONTENTSIZE_UNKNOWN
    assert not parameters.has_checksum
    assert read(frame) == (DATA, False, False)


def test_frames_in_a_row() -> None:
    assert read(FRAME * 3) == (DATA * 3, False, False)
    assert read(SKIPPABLE + FRAME + SKIPPABLE * 2 + FRAME + SKIPPABLE) == (DATA * 2, False, False)


@pytest.mark.parametrize("size", [True, False])
@pytest.mark.parametrize("checksum", [True, False])
@pytest.mark.parametrize("data", [b"", b"x", DATA, DATA * 100, bytes(500_000)], ids=len)
def test_frames_of_other_writers(size: bool, checksum: bool, data: bytes) -> None:
    writer = zstandard.ZstdCompressor(write_content_size=size, write_checksum=checksum)
    frame = writer.compress(data)
    assert read(frame + FRAME) == (data + DATA, False, False)
    for cut in (1, 2, 5):
        assert read(frame[:-cut])[1] is True


@pytest.mark.parametrize("tail", [b"\xee", b"\xee\xee\xee", b"garbage"])
def test_trailing_garbage_fails(tail: bytes) -> None:
    assert read(FRAME + tail) == (DATA, True, False)


def test_a_first_frame_must_be_complete() -> None:
    for size_bytes in range(1, len(FRAME)):
        assert read(FRAME[:size_bytes])[1] is True


@pytest.mark.parametrize(
    "tail", [SKIPPABLE[:-1], FRAME[:3], FRAME[:4], FRAME[:5], FRAME[:-1]], ids=len
)
def test_a_cut_frame_inside_the_last_piece_of_input_is_not_seen(tail: bytes) -> None:
    """Probed on the classes of Kafka 4.3.1, whose reader takes its input in pieces of 131075."""
    assert read(FRAME + tail)[1] is False
    for padding in (131075 - 1, 131075):
        filler = SKIPPABLE[:4] + (padding - 8).to_bytes(4, "little") + bytes(padding - 8)
        assert read(filler + tail)[1] is True
    filler = SKIPPABLE[:4] + (131075 - 7).to_bytes(4, "little") + bytes(131075 - 7)
    assert read(filler + tail)[1] is False


def test_own_checksum() -> None:
    frame = bytearray(zstandard.ZstdCompressor(write_checksum=True).compress(DATA))
    frame[-1] ^= 1
    assert read(bytes(frame))[1] is True


def test_data_before_a_broken_frame_counts() -> None:
    data = bytes(range(256)) * 400
    broken = bytearray(FRAME)
    broken[6] ^= 0xFF
    found, failed, _ = read(compress(data, 3) + bytes(broken))
    assert failed
    assert data.startswith(found)
    assert len(found) > 64 * 1024


def test_r_81_more_frames_than_may_be_are_a_limit_and_no_damage() -> None:
    found = decompress(4, FRAME * 9, output_bytes_max=10**8, parts_max=6)  # a frame and its block
    assert (found.failed, found.limit_exceeded) == (False, True)
    assert bytes(found.data) == DATA * 3


def test_only_skippable_frames() -> None:
    assert read(SKIPPABLE) == (b"", False, False)


def test_contexts_are_used_again_and_give_the_same_bytes() -> None:
    frames = [compress(data, level) for level in (3, 1, 3, 3) for data in (DATA, bytes(9000))]
    assert frames[:2] == frames[4:6] == frames[6:]
    kept = zstd_contexts.CONTEXTS.decompressor
    assert read(b"".join(frames))[0] == (DATA + bytes(9000)) * 4
    assert zstd_contexts.CONTEXTS.decompressor is not None
    assert kept is None or zstd_contexts.CONTEXTS.decompressor is kept


def test_a_context_that_failed_is_not_used_again() -> None:
    broken = bytearray(FRAME)
    broken[8] ^= 0xFF
    assert read(bytes(broken))[1]
    assert zstd_contexts.CONTEXTS.decompressor is None
    assert read(FRAME) == (DATA, False, False)


def test_large_contexts_are_given_back() -> None:
    """A frame says how large its window is, and a client may say 128 MB."""
    random = os.urandom(3 << 20)
    assert compress(random, 22)
    assert 22 not in zstd_contexts.CONTEXTS.compressors
    writer = zstandard.ZstdCompressor(
        compression_params=zstandard.ZstdCompressionParameters(
            window_log=26, write_content_size=False
        )
    ).compressobj()
    frame = writer.compress(random) + writer.flush()
    assert read(frame) == (random, False, False)
    assert zstd_contexts.CONTEXTS.decompressor is None


def test_each_thread_has_its_own_contexts() -> None:
    assert read(FRAME)[0] == DATA
    with ThreadPoolExecutor(1) as pool:
        theirs = pool.submit(lambda: (read(FRAME), zstd_contexts.CONTEXTS.decompressor)).result()
    assert theirs[0] == (DATA, False, False)
    assert theirs[1] is not zstd_contexts.CONTEXTS.decompressor


@pytest.mark.parametrize(
    ("level", "size_bytes", "memory_bytes_max", "window_bytes"),
    [
        (3, 1000, 1 << 40, 1 << 21),  # takes 4 MB for any size, and is kept for the next batch
        (22, 1000, 1 << 40, 1 << 10),
        (22, 0, 0, 1 << 10),
        (22, 60_000, 1 << 40, 1 << 16),
        (19, 60_000, 0, 1 << 16),
        (22, 3_000_000, 1 << 40, 1 << 22),
        (22, 3_000_000, 40_000_000, 1 << 21),
        (22, 3_000_000, 0, 1 << 17),
    ],
)
def test_r84_a_level_takes_memory_for_the_data(
    level: int, size_bytes: int, memory_bytes_max: int, window_bytes: int
) -> None:
    """The form of the frame is the same: a stream without its size."""
    data = os.urandom(1000) * (size_bytes // 1000)
    frame = compress(data, level, memory_bytes_max=memory_bytes_max)
    found = zstandard.get_frame_parameters(frame)
    assert found.window_size == window_bytes
    assert (found.content_size, found.has_checksum) == (zstandard.CONTENTSIZE_UNKNOWN, False)
    assert read(frame) == (data, False, False)


def test_r84_the_bound_counts_the_window_and_a_block_on_either_side() -> None:
    data, window_bytes = os.urandom(1000) * 3000, 1 << 22
    parameters = zstandard.ZstdCompressionParameters.from_level(22, source_size=len(data))
    needed_bytes = parameters.estimated_compression_context_size() + window_bytes + (256 << 10)
    windows = [
        zstandard.get_frame_parameters(compress(data, 22, memory_bytes_max=bound)).window_size
        for bound in (needed_bytes, needed_bytes - 1)
    ]
    assert windows == [window_bytes, window_bytes // 2]


@pytest.mark.parametrize("memory_bytes_max", [0, 8 << 20, 64 << 20])
def test_r84_memory_of_the_highest_level_is_bounded(memory_bytes_max: int) -> None:
    program = (
        "import resource, sys\n"
        "from broker_lite.record.codecs.zstd_stream import compress\n"
        "def peak(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024\n"
        "data = bytes(20_000_000)\n"
        "compress(data, 3)\n"
        "before = peak()\n"
        "compress(data, 22, memory_bytes_max=int(sys.argv[1]))\n"
        "print(peak() - before)\n"
    )
    command = [sys.executable, "-c", program, str(memory_bytes_max)]
    run = subprocess.run(command, check=True, timeout=60, capture_output=True, text=True)
    assert int(run.stdout) < max(memory_bytes_max, 4 << 20) + (2 << 20)
