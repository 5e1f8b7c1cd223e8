"""Rotations, rigid motions, the skeleton and its forward kinematics: arrays in, arrays out."""
