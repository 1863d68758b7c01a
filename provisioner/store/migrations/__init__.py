"""Changes of the schema in their order; a released one is never edited."""
