"""Rotations, rigid motions, the skeleton and its forward kinematics: arrays in, arrays out.

Other folders import kinematics, rigid, rotations, skeleton.
"""
