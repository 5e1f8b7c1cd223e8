"""Pose dictionaries: trained on any source of motion, and used to complete poses and to clean takes.

Other folders import denoise.
"""
