"""The demo: a simulated performer, tracked and scored."""
