"""What policies and bounds ask of a structure: records, calls, and answers derived from pieces."""
