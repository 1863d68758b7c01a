"""What a tenant can ask for: decided here, applied elsewhere."""
