"use strict";
// The benchmark table shows one measure at a time.
const matrix = document.getElementById("matrix");
for (const button of document.querySelectorAll("button[data-measure]")) {
  button.addEventListener("click", () => {
    matrix.dataset.measure = button.dataset.measure;
    for (const other of document.querySelectorAll("button[data-measure]"))
      other.setAttribute("aria-pressed", String(other === button));
  });
}
