"""Missing tags: find them, write suggestions to review, read the decisions.

``recovery`` needs torch; choosing, writing and applying suggestions does not.
"""
