"""How the ramdisk that servers boot is made: pinned Debian packages in, the same bytes out."""
