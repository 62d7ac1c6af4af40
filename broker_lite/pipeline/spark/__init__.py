"""The part of the room that runs in Spark: data source, session, jobs.

In come DataFrames and the options of a data source, out go DataFrames. What a segment holds, and
how it is cut into splits, the modules above this package know; here it is only handed to Spark.
Everything that imports pyspark is below this package.
"""
