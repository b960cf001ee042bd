"""The machine room: kernels, the arrays they work on, random streams, addresses, the cache."""
