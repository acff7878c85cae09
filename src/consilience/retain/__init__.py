"""What leaves a brain: by a rule, with a record, and what must not be there any more is not.

`plan` says what would go, `execute` carries it out, `erase` takes destroyed bytes out of every file.
"""
