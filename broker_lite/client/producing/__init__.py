"""Writes records, in transactions or without."""
