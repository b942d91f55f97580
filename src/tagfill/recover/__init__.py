"""The tags images probably have and nobody wrote: found, handed to people, and read back.

``recovery`` needs torch; choosing, writing and applying suggestions does not.
"""
