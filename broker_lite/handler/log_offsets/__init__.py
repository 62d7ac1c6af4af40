"""Requests about offsets in logs: ListOffsets, OffsetForLeaderEpoch, DeleteRecords."""
