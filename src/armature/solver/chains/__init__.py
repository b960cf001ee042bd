"""Chains: programs in which only neighbours along a line hold each other."""
