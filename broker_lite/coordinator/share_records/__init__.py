"""The records of a partition that a share group has in flight: acquired, acknowledged, in doubt.

A share partition is what a share group knows of one partition. Offsets and acknowledgements come
in; acquired ranges and changes of the state to keep go out. The time is an argument.
"""
