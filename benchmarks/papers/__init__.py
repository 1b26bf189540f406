"""The figures and tables of the five papers, one module each with an object `STUDY`.

    dpsparse bench --list
    dpsparse bench 000-figure-1 --scale quick --plot figure.svg
    python -m benchmarks.papers --scale full      # all of them, resumed where a run was stopped; then the pages
    python -m benchmarks.papers --estimate        # CPU minutes of what is left, from the runs that were kept

Data, splits and noise are seeded: nothing here is private. Methods called "as printed" carry the noise of a paper's own theorem, which
is too small for what it claims (docs/papers.md).
"""
