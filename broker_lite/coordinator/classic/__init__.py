"""Groups of the classic protocol (JoinGroup, SyncGroup): members, generations, rebalances."""
