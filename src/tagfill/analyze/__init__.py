"""Figures of runs: one module per figure, each with its data as CSV."""
