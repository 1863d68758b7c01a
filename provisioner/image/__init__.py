"""Images: what an imported one is, how it comes in, and the two that we can build."""
