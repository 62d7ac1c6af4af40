"""The codecs of Kafka's batches: gzip, snappy, lz4 and zstd, as streams whose length is bounded.

compression is where others come in: bytes in, bytes out, by the codec's number. Each *_stream
decompresses piece by piece (decompressed), so that a small batch cannot take all memory, and a
thread that works on a large one can be told to stop. zstd_contexts keeps what zstd needs each time.
"""
