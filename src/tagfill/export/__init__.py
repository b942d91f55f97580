"""Trained models as files other programs run: ONNX, and torch.export archives."""
