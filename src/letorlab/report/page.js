"use strict";
// Tables: a click on a header sorts, a second one reverses; the text box hides rows without its words.
for (const box of document.querySelectorAll("[data-table]")) {
  const body = box.querySelector("tbody");
  const headers = [...box.querySelectorAll("thead th")];
  const rows = [...body.rows];

  const compare = (a, b) => {
    if (a.hasAttribute("data-number") !== b.hasAttribute("data-number")) return a.hasAttribute("data-number") ? -1 : 1;
    if (a.hasAttribute("data-number")) return a.dataset.key - b.dataset.key;
    return a.dataset.key.localeCompare(b.dataset.key, "en", { numeric: true });
  };

  headers.forEach((header, column) => {
    header.querySelector("button").addEventListener("click", () => {
      const numeric = rows.some((row) => row.cells[column].hasAttribute("data-number"));
      const before = header.getAttribute("aria-sort");
      const rising = before ? before === "descending" : !numeric; // numbers start with the largest
      headers.forEach((other) => other.removeAttribute("aria-sort"));
      header.setAttribute("aria-sort", rising ? "ascending" : "descending");
      const isMissing = (row) => numeric && !row.cells[column].hasAttribute("data-number");
      rows.sort((a, b) =>
        isMissing(a) - isMissing(b) || (rising ? 1 : -1) * compare(a.cells[column], b.cells[column]));
      body.append(...rows);
    });
  });

  box.querySelector("input").addEventListener("input", (event) => {
    const words = event.target.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of rows) {
      const text = [...row.cells].map((cell) => cell.textContent).join(" ").toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
      shown += !row.hidden;
    }
    box.querySelector(".shown").textContent =
      shown === rows.length ? `${shown} rows` : `${shown} of ${rows.length} rows`;
  });
}
