"""The page: what is shown of experiments, and its forms."""
