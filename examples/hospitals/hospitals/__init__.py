"""Five hospitals, one sparse model, no row that moves."""
