"""Rotations, rigid motions, the skeleton and its forward kinematics: arrays in, arrays out.

Other folders import joint_angles, kinematics, rigid, rotations, skeleton.
"""
