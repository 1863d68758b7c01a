"""What a server is, where it is in its life, and who may have it."""
