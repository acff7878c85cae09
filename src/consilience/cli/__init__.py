"""The command line: `csl`, a thin layer over `Project`. Nothing is imported before it is needed."""
