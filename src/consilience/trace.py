"""Lineage."""
