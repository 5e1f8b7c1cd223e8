"""The panels of the page, beside and below the 3D scene."""
