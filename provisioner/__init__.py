"""Servers and hosts: everything that knows no CloudStack."""
