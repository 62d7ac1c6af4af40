"""Values with a schema: the wire format of schema registries, made into Arrow columns.

Messages come in as binary Arrow arrays, and go out as an array of the schema's type beside an array
of error texts. Schemas come from a registry over HTTP or from a folder. A message that cannot be
read never raises; only a missing schema of the result itself does. Nothing here imports Spark.
"""
