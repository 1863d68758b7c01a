"""Fakes of the ports, shipped: they take time, refuse and lie as they are told."""
