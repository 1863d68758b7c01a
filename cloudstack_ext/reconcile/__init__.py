"""CloudStack's instances, our allocations and the controllers' power, held against each other."""
