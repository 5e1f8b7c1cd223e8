"""A simulated performer drawn as two cameras would see it."""
