"""A tenant's seed: the NoCloud texts of an instance, and the volume that carries them. Pure."""
