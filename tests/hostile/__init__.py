"""Hostile input of each kind, and what must hold whatever comes: the app goes on, others are served, nothing leaks."""
