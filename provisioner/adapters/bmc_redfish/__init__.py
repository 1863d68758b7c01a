"""Redfish: the only place that knows sushy, and requests and urllib3 below it."""
