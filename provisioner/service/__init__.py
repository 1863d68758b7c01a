"""The listeners: CloudStack's entry, operators, and the provisioning network."""
