"""Where in an image a model sees a tag: heat maps, their pictures, and how often they are right.

``maps`` and ``pointing`` need torch; the rest does not.
"""
