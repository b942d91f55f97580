"""The tables of the papers, one command each: methods x regimes x seeds under one protocol."""
