"""`broker-lite spark`: jobs on logs; `jobs` lists them."""
