"""Styles learned, drawn and posed by."""
