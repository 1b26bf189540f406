"""Slow truths: each formula again, from its definition, by other means than the library's."""
