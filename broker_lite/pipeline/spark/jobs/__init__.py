"""Jobs over logs: check, measure, export, compare, compact, each a function of a session and paths.

In come a Spark session, paths and options of the data source, out go DataFrames, small values or
files. What a job prints and how it exits is for the command line to say.
"""
