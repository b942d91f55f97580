"""Figures that look into runs: one module a figure, each with its data as CSV."""
