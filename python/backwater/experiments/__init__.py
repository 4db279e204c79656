"""Carries out many runs: those of series, comparisons, studies and sweeps."""
