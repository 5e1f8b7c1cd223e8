"""Whole poses from a few constraints: one protocol, a module for each model that answers it, and a registry.

Other folders import average, fit, local, placement, protocol, sparse, style.
"""
