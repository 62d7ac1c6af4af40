"""Avro: schemas as trees, their Arrow types, and messages as Python values by fastavro."""
