"""What runs on the server, in the ramdisk. Standard library only."""
