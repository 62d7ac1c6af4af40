"""Requests of members of share groups for records: ShareFetch and ShareAcknowledge (KIP-932)."""
