"""PCI, disks, network cards, firmware: values and parsers. Standard library only."""
