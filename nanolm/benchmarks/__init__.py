"""One module a benchmark: source rows to items, exclusions, licence, citation."""
