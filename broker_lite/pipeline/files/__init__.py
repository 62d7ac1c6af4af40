"""Listing, opening and searching the files of a log directory, local or on other storage."""
