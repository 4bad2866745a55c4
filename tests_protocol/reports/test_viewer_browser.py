"""The pages in a real browser, opened from the file system."""

import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from nanolm.editions.edition import Edition
from nanolm.reports import review, review_page
from nanolm.reports.board import build
from nanolm.reports.run_folder import RunFolder
from nanolm.reports.items import items_of

pytestmark = pytest.mark.browser

CHROMIUM = os.environ.get("NANOLM_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")


@pytest.fixture(scope="module")
def site(
    tmp_path_factory: pytest.TempPathFactory,
    mini: Edition,
    write_run: Callable[..., Path],
    pass_checks: Any,
) -> Path:
    folder = tmp_path_factory.mktemp("browser")
    write_run(folder, "strong", 0.8, samples=4, think=True)
    write_run(folder, "weak", 0.3)
    write_run(folder, "half", 0.5, limit=4, because=("partial run (--limit=4)",))
    pass_checks(folder / "mini")
    build(folder / "mini", folder / "site", mini, items_of(mini))
    return folder / "site"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    sync_api = pytest.importorskip("playwright.sync_api", reason="pip install playwright")
    if CHROMIUM is None:
        message = "no chromium found; install it or set NANOLM_CHROMIUM"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    with sync_api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield started
        started.close()


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    """A page that fails the test on any console error, page error, dialogue or request to a network."""
    opened = browser.new_page(viewport={"width": 1280, "height": 800})
    problems: list[str] = []
    opened.on("console", lambda m: problems.append(m.text) if m.type in ("error", "warning") else None)
    opened.on("pageerror", lambda error: problems.append(str(error)))
    opened.on("dialog", lambda dialog: (problems.append(dialog.message), dialog.dismiss()))
    opened.on("request", lambda r: problems.append(r.url) if not r.url.startswith("file:") else None)
    opened.set_default_timeout(10_000)
    yield opened
    opened.close()
    assert problems == []


def count(page: Any) -> str:
    page.wait_for_function("!/loading|searching/.test(document.getElementById('count').textContent)")
    return str(page.locator("#count").text_content())


def test_board_shows_ranks_and_other_measures(page: Any, site: Path) -> None:
    page.goto((site / "index.html").as_uri())
    page.wait_for_url("**/board.html")
    assert page.locator("table.ranking").count() == 2
    assert "half" in page.locator("table.ranking").nth(1).inner_text()
    cell = page.locator("#matrix td.heat").first
    skill = cell.inner_text()
    page.get_by_role("button", name="Mean output tokens").click()
    assert cell.inner_text() != skill
    page.get_by_role("button", name="Failure reasons").click()
    assert any(word in page.locator("#matrix").inner_text() for word in ("wrong", "truncated"))


def test_dark_and_light_by_button_and_key_are_remembered(page: Any, site: Path) -> None:
    page.goto((site / "board.html").as_uri())
    background = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(background)
    page.click("#theme")
    dark = page.evaluate(background)
    assert dark != light
    page.goto((site / "items.html").as_uri())
    assert page.evaluate(background) == dark
    page.locator("#right").press("t")
    assert page.evaluate(background) == light


def test_an_item_has_an_address_and_nothing_in_it_runs(page: Any, site: Path) -> None:
    page.goto((site / "items.html").as_uri() + "#b=gsm8k-platinum-mini&i=0003")
    page.wait_for_selector("article.item")
    assert "0003" in page.locator("article.item h1").inner_text()
    assert page.locator(".column").count() == 3
    assert page.locator(".column").first.locator(".sample").count() == 4
    assert page.locator("pre.reply mark").count() > 0
    assert page.locator("details.reasoning[open]").count() == 0
    page.locator("#right").press("r")
    assert page.locator("details.reasoning[open]").count() > 0
    for benchmark in page.locator("#benchmark option").all():
        page.select_option("#benchmark", benchmark.get_attribute("value"))
        count(page)
        for _ in range(3):
            page.locator("#right").press("j")
            page.wait_for_selector("article.item")
    assert page.title().startswith("Items")
    assert page.locator("article.item script, article.item img, article.item svg").count() == 0


def test_filters_narrow_and_the_address_keeps_them(page: Any, site: Path) -> None:
    page.goto((site / "items.html").as_uri() + "#b=clinc150-mini")
    assert count(page) == "12 of 12 items"
    page.select_option("#entry", "weak")
    seen = {}
    for value in ("c", "x"):
        page.select_option("#verdict", value)
        seen[value] = int(count(page).split()[0])
    assert seen["c"] + seen["x"] == 12
    page.select_option("#verdict", "disagree")
    assert int(count(page).split()[0]) <= 12
    assert "v=disagree" in page.url
    address = page.url
    page.select_option("#verdict", "")
    page.goto("about:blank")
    page.goto(address)
    count(page)
    assert page.locator("#verdict").input_value() == "disagree"
    assert page.locator("#entry").input_value() == "weak"


def test_search_in_questions_and_in_whole_replies(page: Any, site: Path) -> None:
    page.goto((site / "items.html").as_uri() + "#b=mmlu-cf-mini")
    count(page)
    page.keyboard.press("/")
    page.keyboard.type("hamlet")
    page.wait_for_function("document.getElementById('count').textContent.startsWith('1 of')")
    page.fill("#search", "let me see")
    page.wait_for_function("document.getElementById('count').textContent.startsWith('0 of')")
    page.check("#deep")
    page.wait_for_function("/^[1-9]/.test(document.getElementById('count').textContent)")


def test_keys_go_through_the_list_and_the_address_follows(page: Any, site: Path) -> None:
    page.goto((site / "items.html").as_uri() + "#b=arc-easy-mini")
    count(page)
    first = []
    for key in ("j", "j", "k"):
        page.locator("#right").press(key)
        first.append(page.url.split("i=")[-1])
    assert first[0] == first[2] != first[1]


def test_on_a_phone_the_list_gives_way_to_the_item_and_nothing_overflows(browser: Any, site: Path) -> None:
    page = browser.new_page(viewport={"width": 390, "height": 844})
    page.goto((site / "items.html").as_uri() + "#b=arc-easy-mini")
    page.wait_for_selector(".row")
    page.locator(".row").first.click()
    page.wait_for_selector("article.item")
    assert not page.locator(".left").is_visible()
    page.get_by_role("button", name="← list").click()
    assert page.locator(".left").is_visible()
    for name in ("board.html", "entries/strong.html"):
        page.goto((site / name).as_uri())
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.close()


GAP = """() => {
  const text = document.createRange();
  text.selectNodeContents(document.querySelector("td.index"));
  const graph = document.querySelector("td.index + td.strip svg");
  return graph.getBoundingClientRect().left - text.getBoundingClientRect().right;
}"""


def test_the_widest_index_keeps_clear_of_the_interval_beside_it(browser: Any, site: Path) -> None:
    for width in (375, 1280):
        page = browser.new_page(viewport={"width": width, "height": 720})
        page.goto((site / "board.html").as_uri())
        page.evaluate("document.querySelector('td.index').textContent = '100.00'")
        assert page.evaluate(GAP) >= 6, width
        page.close()


def test_a_whole_category_and_all_benchmarks_are_one_list(page: Any, site: Path) -> None:
    page.goto((site / "items.html").as_uri() + "#b=math-and-reasoning")
    assert count(page) == "20 of 20 items"
    page.select_option("#benchmark", "all")
    page.wait_for_function("document.getElementById('count').textContent === '126 of 126 items'")
    page.select_option("#verdict", "t")
    assert 0 < int(count(page).split()[0]) < 126
    page.locator("#right").press("j")
    page.wait_for_selector("article.item")
    assert page.locator(".verdict.truncated").count() > 0
    address = page.url
    page.goto("about:blank")
    page.goto(address)
    page.wait_for_selector("article.item")
    assert page.locator(".row.chosen").count() == 1


def test_samples_of_one_entry_stand_side_by_side(page: Any, site: Path) -> None:
    page.goto(f"file://{site}/items.html#b=arc-easy-mini&e=strong")
    count(page)
    page.keyboard.press("j")
    page.wait_for_selector(".alone .sample")
    boxes = [each.bounding_box() for each in page.locator(".sample").all()]
    assert len(boxes) == 4
    assert boxes[0]["y"] == boxes[1]["y"]
    assert boxes[1]["x"] > boxes[0]["x"] + boxes[0]["width"]
    button = page.get_by_role("button", name="all entries side by side")
    assert button.get_attribute("aria-pressed") == "false"
    page.keyboard.press("a")
    page.wait_for_selector(".columns:not(.alone)")
    assert page.locator(".column").count() > 1
    assert button.get_attribute("aria-pressed") == "true"


def test_what_was_read_is_in_sight_at_the_end_of_a_long_reply(
    page: Any, tmp_path: Path, mini: Edition, write_run: Callable[..., Path]
) -> None:
    folder = write_run(tmp_path, "long")
    read = [json.loads(line) for line in (folder / "verdicts.jsonl").read_text().splitlines()]
    letters = {
        one["item"]: one["answer"] for one in read if one["benchmark"] == "arc-easy-mini" and "answer" in one
    }
    for name in ("outputs", "verdicts"):
        path = folder / f"{name}.jsonl"
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        for line in lines:
            if line["benchmark"] == "arc-easy-mini" and line["item"] in letters:
                text = "word \n" * 4000 + f"Answer: {letters[line['item']]}"
                line |= {"text": text} if name == "outputs" else {"span": [24008, 24009]}
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    build(tmp_path / "mini", tmp_path / "site", mini, items_of(mini))
    page.goto(f"file://{tmp_path}/site/items.html#b=arc-easy-mini")
    count(page)
    for _ in letters:
        page.keyboard.press("j")
        page.wait_for_selector("pre.reply")
        if "word" in page.locator("pre.reply").first.text_content():
            break
    page.wait_for_selector("pre.reply mark")
    inside = page.evaluate(
        """() => { const mark = document.querySelector("pre.reply mark").getBoundingClientRect();
        const pre = document.querySelector("pre.reply").getBoundingClientRect();
        return [mark.top >= pre.top && mark.bottom <= pre.bottom, document.querySelector("mark").textContent]; }"""
    )
    assert inside[0]
    assert inside[1] in "ABCD"


def test_a_review_is_filled_in_kept_saved_and_read_back(
    page: Any, tmp_path: Path, mini: Edition, write_run: Callable[..., Path]
) -> None:
    run = RunFolder(write_run(tmp_path, "weak", 0.2, think=True))
    found = review.failures(review.draw([run], 2, 0), items_of(mini))
    path = tmp_path / "review.html"
    path.write_text(
        review_page.as_page(found, ["HellaSwag-Pro"]), encoding="utf-8", errors="backslashreplace"
    )
    page.goto(path.as_uri())
    assert "must not be redistributed" in page.locator(".note").text_content()
    read = [one.parts[2] for one in found if one.parts[2]]
    assert read
    assert page.locator("mark").all_text_contents() == read
    cards = page.locator("article")
    assert cards.count() == len(found)
    for number, fault in enumerate(("model", "extractor", "model")):
        cards.nth(number).get_by_label(fault).check()
    cards.nth(1).locator("input[type=text]").fill('a "note", with\u00e4')
    page.wait_for_timeout(500)  # the browser's own process takes storage over from the page's
    page.reload()
    assert page.locator("#done").text_content() == "3"
    assert cards.nth(1).locator("input[type=text]").input_value() == 'a "note", with\u00e4'
    with page.expect_download() as download:
        page.locator("#save").click()
    download.value.save_as(tmp_path / "review.csv")
    shares = {(one.benchmark, one.fault): one for one in review.read_back(tmp_path / "review.csv")}
    everything = shares["all", "model"]
    assert (everything.count, everything.reviewed) == (2, 3)
    assert everything.share.low < 2 / 3 < everything.share.high
    assert shares["all", "extractor"].count == 1


def test_golds_and_answers_of_several_lines_stand_in_a_block(page: Any, site: Path) -> None:
    page.goto(f"file://{site}/items.html#b=toolalpaca-mini&e=weak")
    count(page)
    page.keyboard.press("j")
    page.wait_for_selector(".gold code")
    gold = page.locator(".gold code")
    assert "\n" in gold.text_content()
    assert gold.evaluate("(code) => getComputedStyle(code).display") == "block"
    page.goto(f"file://{site}/items.html#b=arc-easy-mini&e=weak")
    count(page)
    page.keyboard.press("j")
    page.wait_for_function("document.querySelector('.item-head h1')?.textContent.startsWith('ARC')")
    assert page.locator(".gold code").evaluate("(code) => getComputedStyle(code).display") == "inline"
