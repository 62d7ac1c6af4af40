"""The data source, the session and the jobs for Spark.

This package adapts the rest of the room, which reads and writes segments, to Spark. Only this
package imports pyspark.
"""
