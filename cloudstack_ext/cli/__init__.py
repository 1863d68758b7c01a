"""`rackwright cloudstack`: the commands that need to know CloudStack. A place of click and rich."""
