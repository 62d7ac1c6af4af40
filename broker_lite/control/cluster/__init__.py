"""The cluster as a whole: the queries and the changes that it offers."""
