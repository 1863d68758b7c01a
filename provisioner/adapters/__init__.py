"""Each outside library or tool behind a port; one module for each."""
