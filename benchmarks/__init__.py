"""Measurements of duocap against known truth; run from the source folder, not part of the package."""
