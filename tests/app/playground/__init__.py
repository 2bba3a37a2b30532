"""The playground in a real browser: what a person sees."""
