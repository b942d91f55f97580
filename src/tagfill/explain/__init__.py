"""Where in an image a model sees a tag: heat maps, pictures of them, and how often they are right.

``maps`` needs torch; drawing and judging do not.
"""
