"""What stands in for a management server in the lab: its payloads, and how it runs the entry."""
