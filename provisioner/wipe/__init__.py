"""Which erase methods a disk gets, how they are run, and what proves that they worked.

Pure and standard library only: the agent uses it on the server, the service decides with it.
"""
