"""Share groups (KIP-932): members, epochs, the assignor, and the partitions whose state exists.

The records that members of these groups acquire are not here: they are in the room share_records.
"""
