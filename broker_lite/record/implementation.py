"""Which of their two forms the modules that a compiler makes fast have in this process."""

from types import ModuleType

from broker_lite.record import batch
from broker_lite.record.loops import scan


def implementations() -> str:
    """Name both kinds of them: "native" when they were compiled, "python" as they are written.

    The scan stands for what Cython compiles, which has work for every record; the views of batches
    for the path of Produce and Fetch requests, which mypyc compiles.
    """
    return f"scan: {form_of(scan)}, request path: {form_of(batch)}"


def form_of(module: ModuleType) -> str:
    """Give "native" when a module was compiled, "python" when it runs as it is."""
    return "python" if str(module.__file__).endswith((".py", ".pyc")) else "native"
