"""Generate a complete PyTorch backend for a new accelerator from a few YAML manifests."""

__version__ = "0.1.0"
