"""Arrays of dask: lazy reads of datasets, and writes by many workers."""
