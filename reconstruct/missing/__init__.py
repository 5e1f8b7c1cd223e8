"""Prediction of markers that no camera sees."""
