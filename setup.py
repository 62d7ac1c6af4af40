"""Build the compiled modules of broker_lite/record, typed for C by the .pxd beside each.

BROKER_LITE_NATIVE=require fails the build when it cannot be compiled (wheels, CI), off skips it,
anything else tries.
"""

import os

from setuptools import Extension, setup

MODE = os.environ.get("BROKER_LITE_NATIVE", "try")
DIRECTIVES = {
    "language_level": 3,
    "annotation_typing": False,
    "boundscheck": True,
    "wraparound": False,
}
# What walks bytes of strangers has its bounds checked by the compiler, too. The copying of columns
# asks itself before each field: with a check for each byte it would take three times as long.
MODULES = {
    "scan": DIRECTIVES,
    "columns": {**DIRECTIVES, "boundscheck": False},
    "encode_records": DIRECTIVES,
    "synthetic": DIRECTIVES,
    "key_map": {**DIRECTIVES, "boundscheck": False},
    "survivors": DIRECTIVES,
    "batch_walk": DIRECTIVES,
}


def extensions() -> list[Extension]:
    if MODE == "off":
        return []
    try:
        from Cython.Build import cythonize
    except ImportError:
        if MODE == "require":
            raise
        return []
    found: list[Extension] = []
    for name, directives in MODULES.items():
        source = Extension(f"broker_lite.record.{name}", [f"broker_lite/record/{name}.py"])
        found += cythonize([source], compiler_directives=directives)
    for extension in found:
        extension.optional = MODE != "require"  # cythonize() drops what its input said
    return found


setup(ext_modules=extensions())
