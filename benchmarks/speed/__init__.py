"""Speed and memory against goals and peers: one interleaved run, tables and growth plots for docs/speed.md.

``python -m benchmarks.speed [--only fits sums ...] [--repeats 5] [--peers FOLDER]``
"""
