"""Tables of Delta Lake and Apache Iceberg that exports add records to.

Comes in: Parquet files that Spark wrote, and the offsets up to which they reach. Goes out: one
commit of the table with both, by the Python packages `deltalake` and `pyiceberg`. So it works with
every Spark, without jars. Never rewrites, compacts or deletes what a table has.
"""
