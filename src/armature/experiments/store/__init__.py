"""What runs leave on disk: finished parts, results, folders, shares and their merging."""
