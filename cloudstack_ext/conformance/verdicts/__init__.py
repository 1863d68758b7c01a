"""Every pitfall of CloudStack's contract with its verdict, a table a verb or subject."""
