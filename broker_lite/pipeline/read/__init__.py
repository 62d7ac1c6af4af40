"""What a read is: its options, its plan of splits, the batches of each."""
