"""The papers' tables by one command each: methods x regimes x seeds under one protocol."""
