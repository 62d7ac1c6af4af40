"""The cluster's data of users: client quotas and SCRAM credentials."""
