"""Splits texts of any language into search terms, and lists stop words."""
