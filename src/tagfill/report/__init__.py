"""A run, or several side by side, as one HTML file that needs nothing else.

``page`` writes it. Every other module turns a run into the plain metadata of one section; the
templates hold all wording and drawing.
"""
