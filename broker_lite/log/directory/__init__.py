"""A data directory with all its partitions, from the start to the clean stop.

manager.LogManager has the logs. Below it: whose the directory is (data_directory) and which
partitions are in it (partitions, claims, offset_checkpoints); recovering all of them after an
unclean stop (recovering, recovery_progress); what is due from time to time (retention, idle,
upkeep, stopping, chores); and partitions whose disk failed (offline).
"""
