"""Compaction: only the newest record of each key stays; old segments become fewer and smaller.

The cleaner works in rounds, and each round has three steps:

1. The event loop finds the dirtiest log, and the offset up to which it can be cleaned
   (eligibility.py).
2. A worker thread gathers the keys of the dirty part in memory of a fixed size (offset_map.py).
   Then it rewrites the segments group by group (grouping.py, rewriting.py). survivors.py and
   transactions.py decide which records of a batch stay.
3. The event loop puts each new segment in the place of its group (swap.py).

cleaner.py runs these steps in order. The worker thread needs no locks: it reads only segments that
nothing changes, and writes only files that no other code opens.
"""
