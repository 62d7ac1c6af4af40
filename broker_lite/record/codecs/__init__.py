"""The codecs of Kafka's batches: gzip, snappy, lz4 and zstd, as streams whose length is bounded.

Other rooms use compression: bytes in, bytes out, by the codec's number. Each *_stream module
decompresses piece by piece (decompressed), so that a small batch cannot take all memory, and so
that a thread that works on a large batch can be stopped. zstd_contexts keeps the contexts of zstd
for reuse.
"""
