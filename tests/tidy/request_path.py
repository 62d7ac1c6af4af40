"""Which modules run for one Produce and for one Fetch, seen in a live broker.

python -m tests.tidy.request_path prints JSON: the modules by request. The broker runs in the main
thread, a client in another. Requests are repeated on a warm connection; a module counts if it runs
for each of them, so timers that fire in between do not. Every module runs from its source: what is
compiled makes no frames that a profiler sees.
"""

import json
import os
import signal
import sys
import tempfile
import threading
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import spec_from_file_location
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "broker_lite"
WARM_REQUESTS = 5
SEEN_REQUESTS = 20


class FromSource:
    """Finds the .py of a module of the package where there is a compiled one, too."""

    @staticmethod
    def find_spec(
        name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        source = ROOT.joinpath(*name.split(".")).with_suffix(".py")
        if name.startswith("broker_lite.") and source.is_file():
            return spec_from_file_location(name, source)
        return PathFinder.find_spec(name, path, target)


class Seen:
    """A profiler that notes the files of the package whose functions are called."""

    def __init__(self) -> None:
        self.is_on = False
        self.files: set[str] = set()

    def profile(self, frame: FrameType, event: str, _argument: object) -> None:
        """Called by the interpreter for each call and return."""
        if self.is_on and event == "call" and frame.f_code.co_name != "<module>":
            self.files.add(frame.f_code.co_filename)

    def during(self, request: Callable[[], object]) -> set[str]:
        """The modules of the package that run while a request is answered."""
        self.files = set()
        self.is_on = True
        request()
        self.is_on = False
        paths = (Path(name) for name in self.files)
        return {str(path.relative_to(PACKAGE)) for path in paths if path.is_relative_to(PACKAGE)}


def measure() -> dict[str, list[str]]:
    """Run a broker and ask it; gives the modules by the name of the request."""
    from broker_lite.server.run import serve
    from broker_lite.settings import Given, Settings

    seen = Seen()
    found: dict[str, list[str]] = {}
    clients = []

    def ready(address: str) -> None:
        client = threading.Thread(target=ask, args=(address, seen, found))
        clients.append(client)
        client.start()
        threading.setprofile(seen.profile)
        sys.setprofile(seen.profile)

    settings = Settings({"listeners": Given("PLAINTEXT://127.0.0.1:0", "flag")})
    with tempfile.TemporaryDirectory(prefix="request-path-") as folder:
        serve(settings, data_dir=Path(folder) / "data", ready=ready, durable=False)
    sys.setprofile(None)
    clients[0].join()
    return found


def ask(address: str, seen: Seen, found: dict[str, list[str]]) -> None:
    """Send the requests, and stop the broker."""
    from tests.bench.load_client import (
        LoadClient,
        batch_of,
        create_topic,
        fetch_frame,
        produce_frame,
    )

    host, _, port = address.rpartition(":")
    try:
        create_topic(host, int(port), "t")
        client = LoadClient(host, int(port))
        frames = {
            "Produce": produce_frame("t", batch_of(10, 100)),
            "Fetch": fetch_frame("t", 0, 1 << 20),
        }
        for name, frame in frames.items():
            request = _sender(client, frame)
            for _ in range(WARM_REQUESTS):
                request()
            every = [seen.during(request) for _ in range(SEEN_REQUESTS)]
            found[name] = sorted(set.intersection(*every))
        client.close()
    finally:
        os.kill(os.getpid(), signal.SIGTERM)


def _sender(client: Any, frame: bytes) -> Callable[[], object]:
    return lambda: client.run(lambda _: frame, 1, 1)


if __name__ == "__main__":
    sys.meta_path.insert(0, FromSource)
    print(json.dumps(measure()))
