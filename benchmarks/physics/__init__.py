"""Benchmarks of the physics of motions."""
