"""The group coordinator as a whole: its requests, their way to a group, reading groups back."""
