"""Build the compiled modules: Python as it stands in the repository, and runs without a compiler.

RECORDS are typed for C by the .pxd beside each and compiled by Cython: they have work for every
record. PATH is what every Produce and Fetch goes through, and what Spark's consumers ask with each
poll, compiled by mypyc from its annotations.

BROKER_LITE_NATIVE=require fails the build when it cannot be compiled (wheels, CI), off skips it,
anything else tries.
"""

import functools
import os
import shlex
import shutil
import sysconfig
from collections.abc import Iterable

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

MODE = os.environ.get("BROKER_LITE_NATIVE", "try")
DIRECTIVES = {
    "language_level": 3,
    "annotation_typing": False,
    "boundscheck": True,
    "wraparound": False,
}
# What walks bytes of strangers has its bounds checked by the compiler, too. The copying of columns
# asks itself before each field: with a check for each byte it would take three times as long.
RECORDS = {
    "broker_lite/record/batch_walk.py": DIRECTIVES,
    "broker_lite/record/columns.py": {**DIRECTIVES, "boundscheck": False},
    "broker_lite/record/encode_records.py": DIRECTIVES,
    "broker_lite/record/first_record.py": DIRECTIVES,
    "broker_lite/record/key_map.py": {**DIRECTIVES, "boundscheck": False},
    "broker_lite/record/locate.py": DIRECTIVES,
    "broker_lite/record/refused.py": DIRECTIVES,
    "broker_lite/record/rewrite.py": DIRECTIVES,
    "broker_lite/record/scan.py": DIRECTIVES,
    "broker_lite/record/survivors.py": DIRECTIVES,
    "broker_lite/record/synthetic.py": DIRECTIVES,
}
PATH = [
    "broker_lite/control/clock.py",
    "broker_lite/control/cluster.py",
    "broker_lite/control/cluster_view.py",
    "broker_lite/control/partition_logs.py",
    "broker_lite/control/topic_configs.py",
    "broker_lite/handler/dispatch.py",
    "broker_lite/handler/fetch.py",
    "broker_lite/handler/fetch_partition.py",
    "broker_lite/handler/fetch_read.py",
    "broker_lite/handler/list_offsets.py",
    "broker_lite/handler/produce.py",
    "broker_lite/handler/produce_append.py",
    "broker_lite/handler/produce_check.py",
    "broker_lite/handler/produce_response.py",
    "broker_lite/handler/produce_validate.py",
    "broker_lite/log/commits.py",
    "broker_lite/log/durable_log.py",
    "broker_lite/log/file_cache.py",
    "broker_lite/log/index.py",
    "broker_lite/log/leader_epochs.py",
    "broker_lite/log/local_log.py",
    "broker_lite/log/log.py",
    "broker_lite/log/producer_entry.py",
    "broker_lite/log/producer_state.py",
    "broker_lite/log/read.py",
    "broker_lite/log/roll.py",
    "broker_lite/log/segment.py",
    "broker_lite/log/validate.py",
    "broker_lite/log/validate_records.py",
    "broker_lite/log/validate_request.py",
    "broker_lite/log/walk.py",
    "broker_lite/protocol/connection.py",
    "broker_lite/protocol/response.py",
    "broker_lite/pipeline/read/measured.py",
    "broker_lite/pipeline/views/record_columns.py",
    "broker_lite/record/batch.py",
    "broker_lite/record/compression.py",
    "broker_lite/record/records.py",
    "broker_lite/record/zstd_stream.py",
    "broker_lite/server/connection.py",
    "broker_lite/server/sendfile.py",
    "broker_lite/server/stream.py",
    "broker_lite/wire/fetch.py",
    "broker_lite/wire/headers.py",
    "broker_lite/wire/list_offsets.py",
    "broker_lite/wire/primitives.py",
    "broker_lite/wire/produce.py",
]
# They call each other as functions of one library, which each of them loads.
LIBRARY = "broker_lite__mypyc"


class BuildExt(build_ext):  # type: ignore[misc]  # setuptools is not typed
    """Translates to C, which takes a while, unless only questions about the package are asked."""

    def finalize_options(self) -> None:
        if not {"dist_info", "egg_info", "sdist"}.intersection(self.distribution.commands):
            self.distribution.ext_modules = extensions()
        super().finalize_options()

    def build_extensions(self) -> None:
        self.parallel = os.cpu_count()
        found, modules = extensions(), _names(PATH)
        others = [extension for extension in found if extension.name not in modules]
        loaders = [extension for extension in found if extension.name in modules]
        self.extensions = others
        super().build_extensions()
        # without their library, the modules of PATH stay as they are written
        self.extensions = loaders if os.path.exists(self.get_ext_fullpath(LIBRARY)) else []
        super().build_extensions()
        self.extensions = found


def _names(paths: Iterable[str]) -> list[str]:
    return [path.removesuffix(".py").replace("/", ".") for path in paths]


def records() -> list[Extension]:
    from Cython.Build import cythonize

    found: list[Extension] = []
    for (path, directives), name in zip(RECORDS.items(), _names(RECORDS), strict=True):
        found += cythonize([Extension(name, [path])], compiler_directives=directives)
    return found


def path() -> list[Extension]:
    from mypyc.build import mypycify

    # What a build environment lacks is no error, and what a newer compiler warns of is none.
    checker = ["--config-file=", "--ignore-missing-imports"]
    found: list[Extension] = mypycify(
        [*checker, *PATH], opt_level="1", debug_level="0", group_name=LIBRARY.partition("__")[0]
    )
    for extension in found:
        flags = extension.extra_compile_args
        extension.extra_compile_args = [flag for flag in flags if flag != "-Werror"]
    return found


@functools.cache
def extensions() -> list[Extension]:
    found: list[Extension] = []
    for compiled in (records, path):
        try:
            found += compiled()
        except (ImportError, SystemExit):  # mypyc exits on its errors
            if MODE == "require":
                raise
    for extension in found:
        extension.optional = MODE != "require"  # cythonize() drops what its input said
    return found


def has_compiler() -> bool:
    command = os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc"
    return shutil.which(shlex.split(command)[0]) is not None


is_compiled = MODE == "require" or (MODE != "off" and has_compiler())
setup(
    # which of them is known when they are to be built
    ext_modules=[Extension(LIBRARY, [])] if is_compiled else [],
    cmdclass={"build_ext": BuildExt},
)
