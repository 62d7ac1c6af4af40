"""Faults: rules by which the broker misbehaves, and the engine that applies them."""
