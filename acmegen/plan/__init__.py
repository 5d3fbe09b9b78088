"""The plan: manifests and facts resolved into frozen dataclasses, which are all that a template sees."""
