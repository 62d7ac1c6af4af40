"""Handlers of requests about users: ACLs, SCRAM credentials, quotas."""
