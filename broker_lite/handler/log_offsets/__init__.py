"""Handlers of requests about offsets: ListOffsets, OffsetForLeaderEpoch, DeleteRecords."""
