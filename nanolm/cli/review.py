"""`nanolm review`."""

from pathlib import Path

import click


@click.command()
@click.argument("entries", nargs=-1)
@click.option("--reports-dir", default="reports", type=click.Path(path_type=Path), show_default=True)
@click.option("--edition", help="The edition, where an entry has runs of several (name or folder).")
@click.option("-n", "--per-benchmark", default=20, show_default=True, help="Failures per benchmark.")
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
@click.option(
    "--read", "filled", type=click.Path(path_type=Path, exists=True), help="Read a reviewed CSV back."
)
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

    from nanolm.errors import UsageError, unknown
    from nanolm.reports import review
    from nanolm.reports.compare import find
    from nanolm.reports.folders import RunFolder, edition_named, edition_of, one_edition
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
    runs = [RunFolder(find(name, reports_dir, edition)) for name in entries]
    name = one_edition(runs)[0]
    suite = edition_named(edition, reports_dir) if edition else edition_of(runs[0].path.parent, name)
    for slug in benchmarks:
        if slug not in suite.benchmarks:
            raise unknown("benchmark", slug, suite.benchmarks)
    found = review.failures(review.draw(runs, per_benchmark, seed, benchmarks), items_of(suite))
    text = review.as_csv(found) if out.suffix == ".csv" else review.as_page(found)
    out.write_text(text, encoding="utf-8", errors="backslashreplace")
    click.echo(f"{out}: {len(found)} failures to read, seed {seed}")
