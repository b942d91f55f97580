"""A run, or several side by side, as one self-contained HTML file.

``page`` writes it. Every other module turns a run into the plain metadata of one section; the
templates hold all wording and drawing.
"""
