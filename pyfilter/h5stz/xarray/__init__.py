"""Datasets of xarray: how they are written, and the engine that reads them."""
