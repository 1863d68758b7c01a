"""The `rackwright` command: click and rich live here, everything heavy is imported when used."""
