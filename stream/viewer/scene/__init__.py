"""What stands in the 3D scene of the viewer."""
