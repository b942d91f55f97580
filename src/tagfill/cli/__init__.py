"""The command line: one module per command, which parses arguments and prints results."""
