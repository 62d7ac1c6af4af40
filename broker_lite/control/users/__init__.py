"""What the cluster keeps for each user: client quotas and SCRAM credentials."""
