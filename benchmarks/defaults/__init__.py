"""The papers' recipes with their defaults on real tables, images and text, and on counts and links.

Is any worse than a constant, or than itself with less budget? Does it reach its twin without privacy where budget is no concern?
"""
