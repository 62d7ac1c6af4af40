"""Spark jobs over logs: verify, report, export, import, diff, compact, generate.

A job is a function of a Spark session, paths and options of the data source. It returns a result or
writes files; output and exit codes are up to `broker_lite.commands`.
"""
