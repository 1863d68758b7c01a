"""Custom actions: one module an action, from what is remembered to rows that CloudStack shows."""
