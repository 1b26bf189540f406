"""Products of rows: the only code that loops over stored entries.

`products` knows blocks, shifts and intercepts. Below it is one narrow interface over arrays
(`interface.Kernels`), with two implementations that give the same bytes: `plain` (numpy and scipy,
always there) and `compiled` (numba, for work that pays its start).
"""
