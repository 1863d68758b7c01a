"""What a management server 4.22 does with an Orchestrator extension, to the letter.

For the demo, for tests, and for `rackwright cloudstack conformance`, which judges any extension
with it. It learns nothing from the service: an entry point's exit, output and time are all it
has. Each rule names the section of the observations (a running server 4.22, "seen") that it is
from; where nothing was seen, the section of the contract that was read from source ("read").
"""
