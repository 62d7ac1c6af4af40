"""The two forms of what Cython compiles here, as for `broker_lite.record`."""

from tests.record.conftest import in_both_forms

only_partition = in_both_forms("only_partition")
