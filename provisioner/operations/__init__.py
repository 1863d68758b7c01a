"""Every durable operation on a server, a page each, and the one runner that walks them."""
