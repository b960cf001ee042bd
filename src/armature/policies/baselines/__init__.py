"""Policies that are here to be compared with, each from its own publication."""
