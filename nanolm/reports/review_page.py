"""Failures as a page to review in, which saves the CSV that `nanolm review --read` takes."""

import hashlib
import re
from collections.abc import Sequence
from html import escape

from nanolm.reports.reply import Parts
from nanolm.reports.review import FAULTS, Failure


def as_page(found: Sequence[Failure], private: Sequence[str] = ()) -> str:
    """A page to review in: verdicts are chosen per failure and saved as the CSV that `--read` takes.

    `private`: titles of benchmarks whose items must not be redistributed; the page says so if it holds any.
    """
    cards = "\n".join(_card(number, one) for number, one in enumerate(found))
    note = (
        f"<p class='note'>Holds items of {escape(', '.join(private))}, which must not be redistributed: for "
        "your own eyes.</p>"
        if private
        else ""
    )
    # One pass: what a model wrote may hold a mark of the template
    fields = {"CARDS": cards, "COUNT": str(len(found)), "NOTE": note, "KEY": _key(found)}
    return re.sub("@@([A-Z]+)@@", lambda mark: fields[mark[1]], _PAGE)


def _key(found: Sequence[Failure]) -> str:
    """Under what name a browser keeps the verdicts that are not saved yet: another sample, another name."""
    names = [f"{one.entry}/{one.benchmark}/{one.item}/{one.sample}" for one in found]
    return hashlib.sha256("\n".join(names).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _card(number: int, one: Failure) -> str:
    choices = "".join(
        f'<label><input type="radio" name="v{number}" value="{fault}"> {fault}</label>' for fault in FAULTS
    )
    data = " ".join(
        f'data-{name}="{escape(str(getattr(one, name)))}"'
        for name in ("benchmark", "item", "sample", "entry")
    )
    gold = escape(one.gold) or "decided by the evaluator's tests"
    return (
        f"<article {data}><h2>{escape(one.benchmark)} · {escape(one.item)} · {escape(one.entry)} · "
        f"sample {one.sample + 1}</h2><p><b>{escape(one.reason)}</b>, read "
        f"<code>{escape(one.read) or 'nothing'}</code> by <code>{escape(one.rule)}</code>, "
        f"gold <code>{gold}</code></p>"
        f"<details><summary>Prompt</summary><pre>{escape(one.prompt)}</pre></details>"
        f"{_shown(one.parts)}<p class='choices'>{choices} "
        f"<input type='text' placeholder='note'></p></article>"
    )


def _shown(cut: Parts) -> str:
    reasoning, before, span, after = map(escape, cut)
    fold = f"<details><summary>Reasoning</summary><pre>{reasoning}</pre></details>" if reasoning else ""
    mark = f"<mark>{span}</mark>" if span else ""
    return f"{fold}<pre>{before}{mark}{after}</pre>"


_PAGE = """<!doctype html><html lang="en"><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Review of failures</title>
<style>body{font:15px/1.5 system-ui,sans-serif;max-width:900px;margin:0 auto;padding:0 16px 60px}
pre{white-space:pre-wrap;overflow-wrap:anywhere;max-height:24rem;overflow:auto;position:relative;unicode-bidi:plaintext;border:1px solid #8886;
border-radius:8px;padding:.7rem}article{border-top:1px solid #8886;padding:.6rem 0}h2{font-size:1rem}
.choices{display:flex;flex-wrap:wrap;gap:1rem;align-items:center}header{position:sticky;top:0;
background:Canvas;padding:.6rem 0;display:flex;gap:1rem;align-items:center;
border-bottom:1px solid #8886;flex-wrap:wrap}.quiet{opacity:.75;font-size:.9em}summary{cursor:pointer}
.note{border-left:3px solid #c80;padding-left:.7rem}.choices label{padding:.2rem 0}</style>
<header><b id="done">0</b> of @@COUNT@@ reviewed <button id="save">Save verdicts as CSV</button>
<span class="quiet">then <code>nanolm review --read review.csv</code></span></header>
@@NOTE@@
<p class="quiet">Whose fault is each failure? <b>model</b>: the answer is not right. <b>extractor</b>: a right answer was
not read. <b>gold</b>: the gold answer is not right. <b>unclear</b>: can't be told. Choices are kept in this browser
until the page is drawn anew.</p>
@@CARDS@@
<script>
"use strict";
const cards = [...document.querySelectorAll("article")];
const verdict = (card) => card.querySelector("input:checked")?.value ?? "";
const note = (card) => card.querySelector("input[type=text]");
const key = "nanolm-review-@@KEY@@";
function count() { document.getElementById("done").textContent = cards.filter(verdict).length; }
try { // what was chosen before the page was closed
  for (const [number, [chosen, text]] of Object.entries(JSON.parse(localStorage.getItem(key) ?? "{}"))) {
    const input = cards[number]?.querySelector(`input[value="${CSS.escape(chosen)}"]`);
    if (input) input.checked = true;
    if (cards[number]) note(cards[number]).value = text;
  }
} catch { /* private windows keep nothing */ }
count();
document.addEventListener("input", () => {
  count();
  const chosen = cards.map((card) => [verdict(card), note(card).value]);
  try { localStorage.setItem(key, JSON.stringify({ ...chosen })); } catch { /* as above */ }
});
for (const mark of document.querySelectorAll("pre mark")) {
  const text = mark.parentElement;
  if (mark.offsetTop + mark.offsetHeight > text.clientHeight) text.scrollTop = mark.offsetTop - text.clientHeight / 2;
}
document.getElementById("save").addEventListener("click", () => {
  const quoted = (text) => '"' + String(text).replaceAll('"', '""') + '"';
  const lines = ["benchmark,item,sample,entry,verdict,note"];
  for (const card of cards) {
    const of = card.dataset;
    lines.push([of.benchmark, of.item, of.sample, of.entry, verdict(card), note(card).value].map(quoted).join(","));
  }
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([lines.join("\\n") + "\\n"], { type: "text/csv" }));
  link.download = "review.csv";
  link.click();
});
</script></html>
"""
