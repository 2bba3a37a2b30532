"""The contract suites on real services: `make live` runs those whose settings are in the environment."""
