"""Sphinx configuration."""

import sys
from pathlib import Path

import dpsparse

sys.path.insert(0, str(Path(__file__).parent))

project = "dpsparse"
author = "the dpsparse authors"
html_context = {"default_mode": "light"}  # also without scripts; the theme reports an empty one as an error
html_static_path = ["_static"]
html_js_files = ["names.js"]
release = dpsparse.__version__
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "extensions.mathml",
    "extensions.generate",
    "extensions.access",
    "extensions.checks",
]
myst_enable_extensions = ["dollarmath", "amsmath", "colon_fence", "attrs_block"]
myst_heading_anchors = 3
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_build", "**/_*.md"]
# options are typed with two dashes, and code with straight quotes
smartquotes = False
html_math_renderer = "mathml"
html_theme = "pydata_sphinx_theme"
html_title = f"dpsparse {release}"
html_css_files = ["dpsparse.css"]
html_show_sourcelink = False
html_show_search_summary = False  # it fetches pages, which a browser refuses where they are files
html_theme_options = {
    "header_links_before_dropdown": 6,
    "navigation_depth": 3,
    "show_nav_level": 1,
    "navbar_align": "left",
    "back_to_top_button": False,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
}
copyright = "the dpsparse authors, Apache-2.0"
autodoc_member_order = "bysource"
autodoc_typehints = "none"
# engines of extras need not be installed to build the pages
autodoc_mock_imports = ["torch", "flwr", "safetensors", "pyspark"]
napoleon_use_ivar = True
napoleon_custom_sections = ["Guarantee", "Deviations", "Durability"]
suppress_warnings = ["ref.python"]
