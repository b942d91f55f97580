for (const table of document.querySelectorAll("table.sortable")) {
  const headers = [...table.tHead.rows[table.tHead.rows.length - 1].cells];
  headers.forEach((header, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...header.childNodes);
    header.append(button);
    button.addEventListener("click", () => {
      const rising = header.getAttribute("aria-sort") === (column ? "descending" : null);
      headers.forEach((each) => each.removeAttribute("aria-sort"));
      header.setAttribute("aria-sort", rising ? "ascending" : "descending");
      const value = (row) => row.cells[column].dataset.value ?? row.cells[column].textContent.trim();
      const order = (a, b) => {
        const [x, y] = [value(a), value(b)];
        if (x === "" || y === "") return (x === "") - (y === "");
        const gap = isNaN(x) || isNaN(y) ? x.localeCompare(y) : x - y;
        return rising ? gap : -gap;
      };
      table.tBodies[0].append(...[...table.tBodies[0].rows].sort(order));
    });
  });
}
