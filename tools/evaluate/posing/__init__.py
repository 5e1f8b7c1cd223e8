"""Whole poses from a few points in space or in an image: a style learned from other takes against its peers."""
