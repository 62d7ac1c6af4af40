"""Lists, describes and changes groups and transactions."""
