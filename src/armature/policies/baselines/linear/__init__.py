"""Policies made for linear structures, to be compared with."""
