"""Whether what `assess` and `replay` say of a log is so: on simulated logs with a known truth."""
