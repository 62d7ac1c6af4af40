"""Protobuf: schemas compiled by protoc, their Arrow types, and messages by Google's library."""
