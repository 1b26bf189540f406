"""Mutants: small wrong changes to the trusted rooms, each of which some test must notice. `make mutants` runs them."""
