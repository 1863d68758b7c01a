"""What we need of the outside, as small protocols. An adapter implements one; so does a fake.

Ports of hardware and network are asynchronous. Ports of the store are plain calls: they
block on the database and are made off the loop.
"""
