"""`nanolm review`."""

from pathlib import Path

import click


@click.command()
@click.argument("entries", nargs=-1)
@click.option("--reports-dir", default="reports", type=click.Path(path_type=Path), show_default=True)
@click.option("--edition", help="The edition, where an entry has runs of several (name or folder).")
@click.option(
    "-n",
    "--per-benchmark",
    type=click.IntRange(min=1),
    default=20,
    show_default=True,
    help="Failures per benchmark.",
)
@click.option("--benchmark", "benchmarks", multiple=True, help="Only this benchmark (can be repeated).")
@click.option("--seed", default=0, show_default=True, help="Another seed draws another sample.")
@click.option(
    "-o",
    "--out",
    default="review.html",
    show_default=True,
    type=click.Path(path_type=Path),
    help="A page (.html) or a table (.csv).",
)
@click.option("--read", "filled", type=click.Path(path_type=Path), help="Read a reviewed CSV back.")
@click.option("--json", "as_json", is_flag=True, help="Print shares as JSON (with --read).")
def command(
    entries: tuple[str, ...],
    reports_dir: Path,
    edition: str | None,
    per_benchmark: int,
    benchmarks: tuple[str, ...],
    seed: int,
    out: Path,
    filled: Path | None,
    as_json: bool,
) -> None:
    """Draw a seeded sample of failures for reading by hand.

    ENTRIES are names below the reports folder, or run folders. Give each failure a verdict: model,
    extractor, gold or unclear (whose fault it is); then --read reports the share of each with a 95%
    interval.
    """
    import msgspec

    from nanolm.errors import UsageError, counted, unknown
    from nanolm.reports import review, review_page
    from nanolm.reports.folders import named
    from nanolm.reports.items import items_of

    if filled is not None:
        shares = review.read_back(filled)
        if as_json:
            click.echo(msgspec.json.format(msgspec.json.encode(shares), indent=1).decode())
            return
        for one in shares:
            low, high = 100 * (one.share.low or 0.0), 100 * (one.share.high or 0.0)
            click.echo(
                f"{one.benchmark:20s} {one.fault:10s} {one.count:4d} of {one.reviewed:4d}"
                f"  {100 * one.share.value:5.1f}%  (95% interval {low:.1f} to {high:.1f})"
            )
        return
    if not entries:
        raise UsageError("name the entries to review, e.g. `nanolm review A B`, or a filled CSV with --read")
    if out.suffix not in (".html", ".csv"):
        raise UsageError(f"-o {out}: expected a name that ends in .html (a page) or .csv (a table)")
    suite, runs = named(list(entries), reports_dir, edition)
    for slug in benchmarks:
        if slug not in suite.benchmarks:
            raise unknown("benchmark", slug, suite.benchmarks)
    partial = review.partial(runs, suite)
    found = review.failures(review.draw(runs, per_benchmark, seed, benchmarks), items_of(suite))
    slugs = dict.fromkeys(one.benchmark for one in found)
    private = [
        suite.benchmarks[slug].title
        for slug in slugs
        if slug in suite.benchmarks and not suite.benchmarks[slug].redistribute
    ]
    text = review.as_csv(found) if out.suffix == ".csv" else review_page.as_page(found, private)
    out.write_text(text, encoding="utf-8", errors="backslashreplace")
    click.echo(f"{out}: {counted(len(found), 'failure')} to read, seed {seed}")
    for each in partial:
        click.echo(f"{each.entry} is partial: drawn from {each}")
