"""Whole live runs: latency, faults, an hour on end, two machines."""
