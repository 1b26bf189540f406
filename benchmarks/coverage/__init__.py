"""How often intervals after private selection contain their target: simulated cells (`cells`), real tables (`tables`), and their page."""
