"""Manifests: YAML text to checked models, with the place of everything that was written."""
