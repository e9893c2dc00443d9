"""Mistakes in the source that the tests must notice."""
