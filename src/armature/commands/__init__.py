"""The commands of the command line, each a function that calls the library."""
