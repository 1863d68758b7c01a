"""All keys, over `cryptography`: this folder is the one place that imports it."""
