"""Jobs on many images: blocks, processed here or on a Ray cluster, and their results."""
