"""All that knows CloudStack."""
