"""Whether an extension survives what a management server does: the suite, for anybody's extension.

It judges exit, output, time and later answers of the entry point alone. What needs the outside
(controllers, disks, networks) is in the tests of the extension itself.
"""
