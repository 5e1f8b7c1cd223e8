"""A rig from one or two markers that are waved through the volume."""
