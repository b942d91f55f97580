"""Where in an image a model sees a tag: heat maps, pictures of them, and how often they are right.

``maps`` and ``evaluate`` need torch; the rest does not.
"""
