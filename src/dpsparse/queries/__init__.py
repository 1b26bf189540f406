"""Everything that may be asked about records: kinds of queries, their sensitivities and exact sums, minimisers and losses."""
