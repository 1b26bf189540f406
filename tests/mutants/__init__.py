"""Mutants: small wrong changes of trusted code, made from its syntax, each of which some test should notice."""
