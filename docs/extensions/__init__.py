"""What the documentation adds to Sphinx: mathematics without scripts, pages made from the code, and checks that fail the build."""
