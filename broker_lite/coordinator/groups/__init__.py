"""The group coordinator as a whole: its requests, their groups, and loading groups from the log."""
