"""Consilience: ask several verifiable brains one question, and see, with proof, where they agree."""

__version__ = "0.1.0"
