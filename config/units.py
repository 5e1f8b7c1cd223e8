"""Factors between units."""

NS_PER_S = 1_000_000_000
MS_PER_NS = 1e-6
MM_PER_M = 1000.0
