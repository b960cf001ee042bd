"""Files whole or not at all, Python values as JSON, objects by name."""
