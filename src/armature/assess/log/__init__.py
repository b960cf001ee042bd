"""Logs: reading them from files, frames and totals, and checking them."""
