"""Networks: backbones by name, heads, and what is saved of them."""
