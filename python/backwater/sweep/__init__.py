"""Sweeps: one scenario at many points of its parameters, with several seeds, in one dataset."""
