"""The answers of structures: derived from the pieces (`derived`), or by faster kernels.

`records` says what is asked, `model` puts a structure and a family together for compiled code.
"""
