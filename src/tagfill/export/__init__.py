"""Trained models as files for other programs: ONNX, and torch.export archives."""
