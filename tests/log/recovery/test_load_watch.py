"""S-44: a loading that nobody watches."""

from broker_lite.log.recovery.load_watch import NOBODY


def test_nobody_minds() -> None:
    NOBODY.expect(1, 2)
    NOBODY.read(2)
    NOBODY.finish_segment()
