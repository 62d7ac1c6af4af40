"""A data directory with all its partitions, from the start to the clean stop.

manager.LogManager holds the logs. It uses these modules:

- data_directory: the lock, and the node and cluster that the directory belongs to
- partitions, claims, offset_checkpoints: the partitions in the directory
- recovering, recovery_progress: the recovery of all logs after an unclean stop
- retention, idle, upkeep, stopping, chores: periodic work
- offline: partitions whose disk failed
"""
