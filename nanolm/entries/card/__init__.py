"""What a model card states, read and held against its artefact (`nanolm card check`; docs/entries.md).

`text` gives what of a card is prose or a table's cell; `sections`, `tables` and `names` say whose it is;
`claims`, `counts`, `benchmarks`, `index` and `sums` find what is stated there, `convention` how it was
measured;
`check` and `scores` compare.
"""
