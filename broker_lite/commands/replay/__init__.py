"""`broker-lite log replay`: writes records of logs into a broker, at the pace of their times."""
