"""Rendering: a plan becomes a tree of formatted files held in memory."""
