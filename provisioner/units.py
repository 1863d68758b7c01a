"""Names for bare strings and numbers, so that a type checker can tell them apart."""

from typing import NewType

ServerName = NewType("ServerName", str)
"""`[a-z0-9][a-z0-9-]{0,62}`, as pool and image names are."""
PoolName = NewType("PoolName", str)
ImageName = NewType("ImageName", str)
HostName = NewType("HostName", str)
"""A GPU host's, of the same form."""
SiteName = NewType("SiteName", str)
"""One CloudStack as this service knows it; bound to the credential, never said by the entry."""
InstanceId = NewType("InstanceId", str)
"""A CloudStack instance's uuid, lower case with dashes."""
HostLabel = NewType("HostLabel", str)
"""The caller's own name for the place where an instance runs: a CloudStack host."""
OperationId = NewType("OperationId", str)
"""UUIDv4."""
AllocationId = NewType("AllocationId", str)
"""UUIDv4."""
MacAddress = NewType("MacAddress", str)
"""Lower case, colons."""
Vlan = NewType("Vlan", int)
"""1 to 4094."""
Epoch = NewType("Epoch", int)
"""Raised at each change of a server's owner or operation; an act with an older one is stale."""
WallSeconds = NewType("WallSeconds", float)
"""Seconds since 1970: what must outlive the process."""
Seconds = NewType("Seconds", float)
"""A duration."""
MonotonicSeconds = NewType("MonotonicSeconds", float)
"""From an arbitrary start: durations within one process are measured with it."""
