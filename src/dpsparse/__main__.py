"""``python -m dpsparse`` is the command line."""

from .cli.program import program

if __name__ == "__main__":
    program()
