"""A recording through the steps of live capture."""
