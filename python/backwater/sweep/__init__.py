"""Sweeps: one scenario at many values of its parameters, with several seeds, in one dataset."""
