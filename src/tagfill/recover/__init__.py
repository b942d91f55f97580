"""Missing tags: find them, hand them to people, read decisions back.

``recovery`` needs torch; choosing, writing and applying suggestions does not.
"""
