"""Webcams of this machine, through OpenCV."""
