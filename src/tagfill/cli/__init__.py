"""The command line: one module a command, nothing but arguments in and results out."""
