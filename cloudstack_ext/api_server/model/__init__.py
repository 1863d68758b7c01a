"""What the server keeps: one dataclass a kind of object, changed by handlers behind one lock."""
