"""Losses for incomplete labels: pure functions from logits and observed labels to terms."""
