"""One file a revision; the revision is its number."""
