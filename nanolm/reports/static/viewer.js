"use strict";
// The item viewer. Data comes in script files that call nanolm(name, value), because a page opened from the file
// system may not fetch. Every text is put in with textContent: nothing a model wrote becomes markup.

const $ = (id) => document.getElementById(id);
const site = window.nanolmSite;
const ROW = 46;
const NAMES = { c: "correct", w: "wrong", u: "unparseable", t: "truncated", s: "unsupported", e: "error", "-": "missing" };

// ---- data on demand -------------------------------------------------------------------------------------------
const loaded = new Map();
const waiting = new Map();

window.nanolm = (name, value) => { loaded.set(name, value); };

function load(name) {
  if (loaded.has(name)) return Promise.resolve(loaded.get(name));
  if (waiting.has(name)) return waiting.get(name);
  const promise = new Promise((done) => {
    const script = document.createElement("script");
    script.charset = "utf-8";
    script.src = "data/" + name.split("/").map(encodeURIComponent).join("/") + ".js";
    script.onload = script.onerror = () => {
      script.remove();
      waiting.delete(name);
      if (!loaded.has(name)) loaded.set(name, null);
      forgetOld();
      done(loaded.get(name));
    };
    document.head.append(script);
  });
  waiting.set(name, promise);
  return promise;
}

function forgetOld() { // texts of items looked at long ago
  let texts = [...loaded.keys()].filter((name) => !name.endsWith("/index"));
  while (texts.length > 120) loaded.delete(texts.shift());
}

// ---- state, which is the address -------------------------------------------------------------------------------
const state = { b: "", i: "", e: "", v: "", g: "", q: "", all: "" };
let shown = [];        // positions in the benchmark's index that pass the filters
let index = null;
let foldReasoning = true;
let request = 0;

function readAddress() {
  const read = new URLSearchParams(location.hash.slice(1));
  for (const key of Object.keys(state)) state[key] = read.get(key) || "";
  if (!chosenBenchmarks().length) state.b = Object.keys(site.benchmarks)[0] || "";
}

function chosenBenchmarks() { // of a benchmark, a category or all
  if (Object.hasOwn(site.benchmarks, state.b)) return [state.b];
  if (state.b === "all") return Object.keys(site.benchmarks);
  return Object.hasOwn(site.categories, state.b) ? site.categories[state.b].benchmarks : [];
}

async function loadIndex(slugs) {
  const parts = await Promise.all(slugs.map((slug) => load(`${slug}/index`)));
  if (parts.some((part) => !part)) return null;
  const joined = { slugs: [], places: [], ids: [], keys: [], groups: [], snippets: [], verdicts: {} };
  const names = [...new Set(parts.flatMap((part) => Object.keys(part.verdicts)))];
  for (const name of names) joined.verdicts[name] = [];
  parts.forEach((part, k) => {
    part.ids.forEach((id, place) => {
      joined.slugs.push(slugs[k]);
      joined.places.push(place);
      joined.ids.push(id);
      joined.keys.push(slugs.length > 1 ? `${slugs[k]}/${id}` : id);
      joined.groups.push(part.groups[place]);
      joined.snippets.push(part.snippets[place]);
    });
    for (const name of names)
      joined.verdicts[name] = joined.verdicts[name].concat(part.verdicts[name] || part.ids.map(() => "-"));
  });
  return joined;
}

function writeAddress() {
  const write = new URLSearchParams();
  for (const [key, value] of Object.entries(state)) if (value) write.set(key, value);
  const hash = "#" + write;
  if (hash !== location.hash) history.replaceState(null, "", hash);
}

// ---- small things ----------------------------------------------------------------------------------------------
function element(tag, className, text) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text !== undefined && text !== null) made.textContent = text;
  return made;
}

function options(select, pairs, value) {
  select.replaceChildren(...pairs.map(([key, text]) => {
    const option = element("option", "", text);
    option.value = key;
    return option;
  }));
  select.value = pairs.some(([key]) => key === value) ? value : pairs[0]?.[0] ?? "";
}

function dots(letters) {
  const box = element("span", "dots");
  for (const letter of letters) {
    const dot = element("i", "dot " + NAMES[letter]);
    dot.title = NAMES[letter];
    box.append(dot);
  }
  return box;
}

function oneDot(entry, letters) { // all samples of an entry in one
  const kind = mixed(letters) ? "mixed" : NAMES[letters[0]];
  const dot = element("i", "dot " + kind);
  dot.title = `${site.entries[entry].title}: ${[...letters].map((letter) => NAMES[letter]).join(", ")}`;
  return dot;
}

// ---- filters ---------------------------------------------------------------------------------------------------
const all = (letters, letter) => letters.length > 0 && [...letters].every((one) => one === letter);
const mixed = (letters) => letters.includes("c") && [...letters].some((one) => one !== "c");

function disagree(position) {
  let right = false, wrong = false;
  for (const letters of Object.values(index.verdicts)) {
    if (all(letters[position], "c")) right = true;
    else if (!letters[position].includes("c") && /[^-]/.test(letters[position])) wrong = true;
  }
  return right && wrong;
}

function passes(position) {
  const own = index.verdicts[state.e] ? [index.verdicts[state.e]] : Object.values(index.verdicts);
  const some = (test) => own.some((letters) => test(letters[position]));
  switch (state.v) {
    case "": break;
    case "c": if (!some((l) => all(l, "c"))) return false; break;
    case "x": if (!some((l) => /[^c-]/.test(l))) return false; break;
    case "mixed": if (!some(mixed)) return false; break;
    case "disagree": if (!disagree(position)) return false; break;
    default: if (!some((l) => l.includes(state.v))) return false;
  }
  return !state.g || index.groups[position] === state.g;
}

async function deepHit(position, query) {
  const slug = index.slugs[position], place = index.places[position];
  const chunk = Math.floor(place / site.chunk), at = place % site.chunk;
  const texts = [];
  const items = await load(`${slug}/items-${chunk}`);
  if (items?.[at]) texts.push(items[at].prompt);
  for (const entry of state.e ? [state.e] : Object.keys(index.verdicts)) {
    const outputs = await load(`${slug}/${entry}-${chunk}`);
    for (const one of Object.values(outputs?.[at] || {})) texts.push(one.parts.join(""));
  }
  return texts.some((text) => text.toLowerCase().includes(query));
}

async function filter() {
  const mine = ++request;
  const query = state.q.trim().toLowerCase();
  const deep = $("deep").checked && query !== "";
  const found = [];
  const total = index ? index.ids.length : 0;
  for (let position = 0; position < total; position++) {
    if (!passes(position)) continue;
    if (query && !deep) {
      if (!index.keys[position].toLowerCase().includes(query) && !index.snippets[position].toLowerCase().includes(query)) continue;
    } else if (deep) {
      const hit = await deepHit(position, query);
      if (mine !== request) return;
      if (position % 40 === 0) $("count").textContent = `searching ${position.toLocaleString("en")} of ${total.toLocaleString("en")} …`;
      if (!hit) continue;
    }
    found.push(position);
  }
  shown = found;
  $("count").textContent = `${shown.length.toLocaleString("en")} of ${total.toLocaleString("en")} items`;
  $("space").style.height = shown.length * ROW + "px";
  scrollToItem();
  drawList();
}

// ---- list, drawn only where it is seen ---------------------------------------------------------------------------
function drawList() {
  const list = $("list");
  const first = Math.max(0, Math.floor(list.scrollTop / ROW) - 5);
  const last = Math.min(shown.length, first + Math.ceil(list.clientHeight / ROW) + 10);
  const rows = [];
  const entries = state.e && index?.verdicts[state.e] ? [state.e] : Object.keys(index?.verdicts || {});
  for (let k = first; k < last; k++) {
    const position = shown[k];
    const row = element("a", "row" + (index.keys[position] === state.i ? " chosen" : ""));
    row.setAttribute("role", "option");
    row.setAttribute("aria-selected", String(index.keys[position] === state.i));
    row.style.top = k * ROW + "px";
    row.href = "#" + new URLSearchParams({ ...Object.fromEntries(Object.entries(state).filter(([, v]) => v)), i: index.keys[position] });
    row.addEventListener("click", (event) => {
      if (event.metaKey || event.ctrlKey || event.shiftKey) return;
      event.preventDefault();
      choose(position);
    });
    const head = element("span", "row-head");
    head.append(element("b", "", index.ids[position]));
    const verdicts = element("span", "row-dots");
    if (entries.length === 1) verdicts.append(dots(index.verdicts[entries[0]][position]));
    else for (const entry of entries) verdicts.append(oneDot(entry, index.verdicts[entry][position]));
    head.append(verdicts);
    const snippet = element("span", "snippet");
    if (index.keys[position] !== index.ids[position])
      snippet.append(element("em", "", site.benchmarks[index.slugs[position]].title), " ");
    snippet.append(element("bdi", "", index.snippets[position]));
    row.append(head, snippet);
    rows.push(row);
  }
  $("window").replaceChildren(...rows);
}

function scrollToItem() {
  const at = shown.findIndex((position) => index.keys[position] === state.i);
  const list = $("list");
  if (at < 0) { list.scrollTop = 0; return; }
  if (at * ROW < list.scrollTop || (at + 1) * ROW > list.scrollTop + list.clientHeight)
    list.scrollTop = Math.max(0, at * ROW - list.clientHeight / 3);
}

function choose(position) {
  state.i = index.keys[position];
  writeAddress();
  scrollToItem();
  drawList();
  showItem();
}

function step(by) {
  if (!shown.length) return;
  const at = shown.findIndex((position) => index.keys[position] === state.i);
  const next = at < 0 ? 0 : Math.min(shown.length - 1, Math.max(0, at + by));
  choose(shown[next]);
}

// ---- one item ----------------------------------------------------------------------------------------------------
async function showItem() {
  const position = index ? index.keys.indexOf(state.i) : -1;
  $("panes").classList.toggle("open", state.i !== "");
  if (position < 0) {
    if (state.i) $("item").replaceChildren(element("p", "empty", `No item ${state.i} in this benchmark.`));
    return;
  }
  const wanted = state.i, chosenIndex = index, benchmark = index.slugs[position], place = index.places[position];
  const chunk = Math.floor(place / site.chunk), at = place % site.chunk;
  const names = Object.keys(site.entries).filter((name) => index.verdicts[name]);
  const chosen = state.e && !state.all ? names.filter((name) => name === state.e) : names;
  const [items, ...outputs] = await Promise.all(
    [`items-${chunk}`, ...chosen.map((name) => `${name}-${chunk}`)].map((name) => load(`${benchmark}/${name}`)));
  if (wanted !== state.i || chosenIndex !== index) return;
  const box = element("article", "item");
  box.append(itemHead(position), itemPrompt(items?.[at]));
  const columns = element("div", chosen.length === 1 ? "columns alone" : "columns");
  chosen.forEach((name, k) => columns.append(entryColumn(name, index.verdicts[name][position], outputs[k]?.[at] || {})));
  box.append(columns);
  $("item").replaceChildren(box);
  $("right").scrollTop = 0;
  for (const mark of box.querySelectorAll("pre.reply mark")) { // what was read is in sight, however long the reply
    const text = mark.parentElement;
    if (mark.offsetTop + mark.offsetHeight > text.clientHeight) text.scrollTop = mark.offsetTop - text.clientHeight / 2;
  }
}

function itemHead(position) {
  const head = element("header", "item-head");
  const title = element("h1", "", `${site.benchmarks[index.slugs[position]].title} · ${index.ids[position]}`);
  const bar = element("div", "item-bar");
  const back = element("button", "only-phone", "← list");
  back.addEventListener("click", () => { state.i = ""; writeAddress(); $("panes").classList.remove("open"); drawList(); });
  const previous = element("button", "", "‹ previous");
  previous.title = "k";
  previous.addEventListener("click", () => step(-1));
  const next = element("button", "", "next ›");
  next.title = "j";
  next.addEventListener("click", () => step(1));
  const every = element("button", "", "all entries side by side");
  every.setAttribute("aria-pressed", String(Boolean(state.all || !state.e)));
  every.title = "a";
  every.disabled = !state.e;
  every.addEventListener("click", toggleAll);
  bar.append(back, previous, next, every);
  if (index.groups[position]) bar.append(element("span", "quiet", index.groups[position]));
  head.append(title, bar);
  return head;
}

function itemPrompt(item) {
  const box = element("section", "asked");
  if (!item) {
    box.append(element("p", "empty", "The text of this item is not in this folder."));
    return box;
  }
  const details = element("details");
  details.open = true;
  details.append(element("summary", "", "Prompt as sent (before the chat template, where an entry has one)"), element("pre", "text", item.prompt));
  const gold = element("p", "gold");
  gold.append(element("span", "label", "gold"), element("code", (item.gold ?? "").includes("\n") ? "block" : "", item.gold ?? "decided by the evaluator's tests"));
  box.append(details, gold);
  return box;
}

function entryColumn(name, letters, outputs) {
  const column = element("section", "column");
  const head = element("h2");
  const link = element("a", "", site.entries[name].title);
  link.href = `entries/${encodeURIComponent(name)}.html`;
  head.append(link, dots(letters));
  column.append(head);
  const samples = element("div", "samples");
  [...letters].forEach((letter, sample) => samples.append(sampleCard(outputs[sample], sample, letters.length)));
  column.append(samples);
  return column;
}

function sampleCard(output, sample, samples) {
  const card = element("div", "sample");
  if (!output) {
    card.append(element("p", "empty", `No output for sample ${sample + 1}.`));
    return card;
  }
  const verdict = output.correct ? "correct" : output.reason || "wrong";
  card.classList.add(verdict);
  const head = element("div", "sample-head");
  head.append(element("span", "verdict " + verdict, verdict));
  if (samples > 1) head.append(element("span", "quiet", `sample ${sample + 1} of ${samples}`));
  head.append(element("span", "quiet", `${output.tokens.toLocaleString("en")} token${output.tokens === 1 ? "" : "s"} · ended by ${output.finish}`));
  card.append(head);
  const read = element("p", "read");
  const [reasoning, before, span, after] = output.parts;
  const lines = (output.answer ?? "").includes("\n"); // a program or calls: not twice, and not in a line of text
  if (lines && output.answer.trim() === span.trim()) read.append(element("span", "label", "read"), element("span", "quiet", "the marked text"));
  else read.append(element("span", "label", "read"), element("code", lines ? "block" : "", output.answer ?? "nothing"));
  if (output.rule) read.append(element("span", "label", "rule"), element("code", "", output.rule));
  card.append(read);
  if (output.detail) card.append(element("p", "quiet", output.detail));
  if (output.error) card.append(element("p", "failed", output.error));
  if (reasoning) {
    const fold = element("details", "reasoning");
    fold.open = !foldReasoning;
    fold.append(element("summary", "", `Reasoning, ${reasoning.length.toLocaleString("en")} characters`), element("pre", "text", reasoning));
    card.append(fold);
  }
  const text = element("pre", "text reply");
  text.append(before);
  if (span) text.append(element("mark", "", span));
  text.append(after);
  if (before || span || after) card.append(text);
  else if (!reasoning) card.append(element("p", "empty", "The output is empty."));
  return card;
}

function toggleAll() {
  if (!state.e) return;
  state.all = state.all ? "" : "1";
  writeAddress();
  showItem();
}

// ---- wiring --------------------------------------------------------------------------------------------------------
async function showBenchmark() {
  const wanted = state.b;
  $("count").textContent = "loading …";
  const found = wanted ? await loadIndex(chosenBenchmarks()) : null;
  if (wanted !== state.b) return;
  index = found;
  if (!index) {
    shown = [];
    $("count").textContent = wanted ? "The data of this benchmark can't be read." : "No items in this folder.";
    $("window").replaceChildren();
    return;
  }
  benchmarkOptions();
  const entries = Object.keys(site.entries).filter((name) => index.verdicts[name]);
  options($("entry"), [["", "all entries"], ...entries.map((name) => [name, site.entries[name].title])], state.e);
  const groups = [...new Set(index.groups)].filter(Boolean).sort();
  $("group-label").hidden = groups.length === 0;
  options($("group"), [["", groups.length ? "all groups" : "none"], ...groups.map((g) => [g, g])], state.g);
  state.e = $("entry").value;
  state.g = $("group").value;
  $("verdict").value = state.v;
  $("search").value = state.q;
  await filter();
  showItem();
}

function benchmarkOptions() {
  const select = $("benchmark");
  const option = (value, text) => {
    const made = element("option", "", text);
    made.value = value;
    return made;
  };
  const groups = Object.entries(site.categories).filter(([, c]) => c.benchmarks.length).map(([slug, category]) => {
    const group = element("optgroup");
    group.label = category.title;
    for (const b of category.benchmarks)
      group.append(option(b, `${site.benchmarks[b].title} (${site.benchmarks[b].items.toLocaleString("en")})`));
    if (category.benchmarks.length > 1 && !Object.hasOwn(site.benchmarks, slug))
      group.append(option(slug, `all of ${category.title}`));
    return group;
  });
  select.replaceChildren(...groups, option("all", "all benchmarks"));
  select.value = state.b;
}

function changed() {
  const benchmark = $("benchmark").value;
  if (benchmark !== state.b) Object.assign(state, { b: benchmark, i: "", g: "" });
  else Object.assign(state, { g: $("group").value });
  Object.assign(state, { e: $("entry").value, v: $("verdict").value, q: $("search").value });
  writeAddress();
  showBenchmark();
}

let pause = 0;
$("search").addEventListener("input", () => { clearTimeout(pause); pause = setTimeout(changed, 150); });
for (const id of ["benchmark", "entry", "verdict", "group", "deep"]) $(id).addEventListener("change", changed);
$("filters").addEventListener("submit", (event) => { event.preventDefault(); changed(); });
$("list").addEventListener("scroll", () => requestAnimationFrame(drawList));
addEventListener("resize", drawList);
addEventListener("hashchange", () => { readAddress(); showBenchmark(); });
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (/^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  if (event.key === "j" || (event.key === "ArrowDown" && event.target === $("list"))) { event.preventDefault(); step(1); }
  else if (event.key === "k" || (event.key === "ArrowUp" && event.target === $("list"))) { event.preventDefault(); step(-1); }
  else if (event.key === "/") { event.preventDefault(); $("search").focus(); }
  else if (event.key === "a") toggleAll();
  else if (event.key === "r") {
    foldReasoning = !foldReasoning;
    for (const fold of document.querySelectorAll("details.reasoning")) fold.open = !foldReasoning;
  }
});
readAddress();
showBenchmark();
