"""Whole files: compressed, unpacked, verified and described."""
