"""The page in the browser: files that use the control API. What the page can do, a test can do."""
