"use strict";
// Each form searches the list that its data-for names: an item stays where its text has every word
// that is looked for. Until a reader searches or presses the button, the first data-first items are
// shown alone.
for (const form of document.querySelectorAll("form[data-for]")) {
  const list = document.getElementById(form.dataset.for);
  const items = [...list.querySelectorAll(form.dataset.items)];
  const texts = items.map((item) => item.textContent.toLowerCase());
  const first = Number(form.dataset.first);
  const button = form.querySelector("button");
  let all = items.length <= first;
  const search = () => {
    const words = form.querySelector("input").value.toLowerCase().split(/\s+/).filter(Boolean);
    const most = all || words.length ? items.length : first;
    let shown = 0;
    items.forEach((item, i) => {
      item.hidden = !(shown < most && words.every((word) => texts[i].includes(word)));
      shown += !item.hidden;
    });
    button.hidden = most === items.length;
    form.querySelector("output").value = `${shown} of ${items.length} shown`;
  };
  form.addEventListener("input", search);
  form.addEventListener("submit", (event) => event.preventDefault());
  button.addEventListener("click", () => {
    all = true;
    search();
  });
  form.hidden = false;
  search();
}
// Above what is wider than the window stands a line that says so.
for (const box of document.querySelectorAll(".scroll")) {
  const update = () => {
    box.previousElementSibling.hidden = box.scrollWidth - box.clientWidth <= 1;
  };
  new ResizeObserver(update).observe(box);
}
