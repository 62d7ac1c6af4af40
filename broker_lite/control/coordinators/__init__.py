"""Groups and transactions at work: coordinators with their state logs, open requests and timers."""
