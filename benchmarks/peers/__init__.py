"""Other libraries and methods beside this one, on the same splits of public tables: deviance, error and calibration.

    python -m benchmarks.peers --install                 # environments of the peers, in .venvs/peers
    python -m benchmarks.peers --minutes 60              # run; goes on where it was stopped; then docs/peers.md and docs/peers.svg
    python -m benchmarks.peers --page                    # the page from the results that are kept

Splits and noise are seeded: nothing here is private.
"""
