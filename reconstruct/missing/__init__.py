"""Prediction of markers that no camera sees.

Other folders import fill_in, pose_model, sparse, style.
"""
