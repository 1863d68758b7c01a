"""What guards.py lets stand, a module a subject."""
