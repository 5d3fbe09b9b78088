"""Output: what a generation changes on disk, and the one place that writes it."""
