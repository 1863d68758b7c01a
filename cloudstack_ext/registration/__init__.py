"""What is registered with CloudStack: wanted, found and remembered -> plan -> apply."""
