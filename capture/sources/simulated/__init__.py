"""A simulated performer drawn as two cameras would see it.

Other folders import camera, performer, scene.
"""
