"""Who plays: blocks of work, on threads or on a Ray cluster."""
