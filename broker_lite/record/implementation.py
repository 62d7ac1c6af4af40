"""Tell whether the modules that can be compiled are compiled in this process."""

from types import ModuleType

from broker_lite.record import batch
from broker_lite.record.loops import scan


def implementations() -> str:
    """Name the form of both kinds: "native" if they are compiled, "python" if not.

    The scan stands for the modules that Cython compiles, which work on every record. The views of
    batches stand for the request path of Produce and Fetch, which mypyc compiles.
    """
    return f"scan: {form_of(scan)}, request path: {form_of(batch)}"


def form_of(module: ModuleType) -> str:
    """Return "native" if a module is compiled, "python" if it runs as it is written."""
    return "python" if str(module.__file__).endswith((".py", ".pyc")) else "native"
