"""Everything that may be asked about records.

Kinds of queries, their sensitivities and exact sums, minimisers and losses.
"""
