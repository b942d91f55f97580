"""Work on more images than one process holds: blocks, here or on a Ray cluster, and their parts."""
