"""Build the one compiled module: broker_lite/record/scan.py, typed for C by the .pxd beside it.

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


def extensions() -> list[Extension]:
    if MODE == "off":
        return []
    try:
        from Cython.Build import cythonize
    except ImportError:
        if MODE == "require":
            raise
        return []
    found: list[Extension] = cythonize(
        [Extension("broker_lite.record.scan", ["broker_lite/record/scan.py"])],
        compiler_directives=DIRECTIVES,
    )
    for extension in found:
        extension.optional = MODE != "require"  # cythonize() drops what its input said
    return found


setup(ext_modules=extensions())
