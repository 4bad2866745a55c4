"""One module a benchmark: source rows to items, exclusions, licence, citation.

A benchmark's module has `items(benchmark, files) -> BenchmarkItems`, `ANSWER_TYPE` (of all its items),
`LICENCE` and `CITATION`.
"""
