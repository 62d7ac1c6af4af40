"""Compaction: of each key only the newest record stays, and old segments become fewer and smaller.

A cleaning goes in rounds. In the event loop it is found which log is the dirtiest and up to where
it can be cleaned (eligibility.py). In a worker thread the keys of the dirty part are gathered in
memory of a fixed size (offset_map.py), and the segments are rewritten, group by group (grouping.py,
rewriting.py) by the rules for single batches (survivors.py, transactions.py). In the loop again,
each new segment takes the place of its group (swap.py). cleaner.py puts these steps in order.

The worker reads segments that nothing changes, and writes files that nobody else knows.
"""
