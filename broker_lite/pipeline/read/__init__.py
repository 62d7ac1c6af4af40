"""Reading a log: options, the plan of splits, and the batches of a split."""
