"""Training: from labels and images, or features, to a run folder with a model."""
