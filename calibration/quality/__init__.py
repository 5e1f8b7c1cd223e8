"""The quality report on a calibration: how wrong the world may be, what explains it, and its picture."""
