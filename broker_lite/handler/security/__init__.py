"""Requests about users: ACLs, SCRAM credentials, quotas."""
