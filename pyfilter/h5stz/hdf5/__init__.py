"""What HDF5 knows: its copies in this process, what a file contains, which of its numbers mean something else."""
