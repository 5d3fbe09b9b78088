"""Dialects: each prints a checked expression in one language. Host C++ is the first one."""
