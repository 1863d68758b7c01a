"""How a server boots over the network: texts and choices, decided here and applied elsewhere."""
