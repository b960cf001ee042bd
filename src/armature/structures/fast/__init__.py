"""Fast kernels of single structures, each checked against the answer derived from the pieces."""
