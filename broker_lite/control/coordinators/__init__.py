"""Runs the coordinators of groups and transactions: state logs, open requests and timers."""
