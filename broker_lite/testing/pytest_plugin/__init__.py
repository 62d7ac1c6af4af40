"""What the pytest plugin consists of: fixtures, what happens between tests, scripts."""
