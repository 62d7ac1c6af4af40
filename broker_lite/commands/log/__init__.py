"""`broker-lite log`: logs in their files, without a broker. Its actions are listed in `actions`."""
