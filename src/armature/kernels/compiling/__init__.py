"""What stands between a kernel and Numba: keys, files, and what a terminal is told meanwhile."""
