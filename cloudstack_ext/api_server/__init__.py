"""An API server that behaves as CloudStack's was seen to: for tests, the demo and conformance."""
