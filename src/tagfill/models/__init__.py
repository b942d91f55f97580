"""Networks: backbones by name, heads, and their files."""
