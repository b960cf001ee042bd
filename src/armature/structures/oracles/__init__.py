"""How structures answer: derived from the pieces (`derived`), or by faster kernels of their own.

`records` says what is asked, `model` puts a structure and a family together for compiled code.
"""
