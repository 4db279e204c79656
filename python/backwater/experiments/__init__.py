"""What series, comparisons, studies and sweeps have in common: how their runs are carried out."""
