"use strict";
// Light or dark: the reader's choice if there is one, else the system's.
(function () {
  const root = document.documentElement;
  function stored() { try { return localStorage.getItem("nanolm-theme"); } catch { return null; } }
  const choice = stored();
  if (choice === "light" || choice === "dark") root.dataset.theme = choice;
  function toggle() {
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
    try { localStorage.setItem("nanolm-theme", root.dataset.theme); } catch { /* private windows keep nothing */ }
  }
  document.addEventListener("DOMContentLoaded", () => document.getElementById("theme").addEventListener("click", toggle));
  document.addEventListener("keydown", (event) => {
    const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
    if (event.key === "t" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) toggle();
  });
})();
