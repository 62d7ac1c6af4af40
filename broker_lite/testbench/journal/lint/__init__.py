"""Client lint: habits of clients that the journal shows, why they matter, and what to do."""
