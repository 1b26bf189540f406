"""Sphinx configuration."""

import dpsparse

project = "dpsparse"
author = "the dpsparse authors"
release = dpsparse.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.mathjax"]
myst_enable_extensions = ["dollarmath", "amsmath", "colon_fence"]
myst_heading_anchors = 3
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_build"]
html_theme = "pydata_sphinx_theme"
html_title = "dpsparse"
autodoc_member_order = "bysource"
autodoc_typehints = "none"
napoleon_custom_sections = ["Guarantee", "Deviations"]
suppress_warnings = ["ref.citation", "ref.python", "myst.xref_missing"]
