"""Load on a broker: the requests of a producer or of consumers at a rate, and what became of them.

Settings of a run come in; a result goes out, which is plain data. The room works per request and
per batch, never per record: batches are encoded before the clock runs. It prints nothing, and no
room of the broker imports it.

Modules that decide (`schedule`, `histogram`, `recorder`, `spread`, `produce`, `fetch`) have no
clock and no socket: the time comes in as a number of nanoseconds. `link` and `run` do the I/O.
"""
