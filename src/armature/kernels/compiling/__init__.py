"""The layer between kernels and Numba: keys, files, messages to the terminal."""
