"use strict";
// Each form filters the list that its data-for names: an item stays where it has every value that is
// chosen, in its data- attributes, and every word that is looked for, in its text. Until a reader
// chooses something or presses the button, the first data-first items are shown alone.
for (const form of document.querySelectorAll("form[data-for]")) {
  const items = [...document.getElementById(form.dataset.for).querySelectorAll("[data-item]")];
  const texts = items.map((item) => item.textContent.toLowerCase());
  const first = Number(form.dataset.first);
  const button = form.querySelector("button");
  const count = form.querySelector("output");
  let all = items.length <= first;
  const filter = () => {
    const chosen = [...form.querySelectorAll("select")].filter((one) => one.value);
    const words = form.querySelector("input").value.toLowerCase().split(/\s+/).filter(Boolean);
    const most = all || chosen.length || words.length ? items.length : first;
    let shown = 0;
    items.forEach((item, i) => {
      item.hidden = !(
        shown < most &&
        chosen.every((one) => item.dataset[one.name].split("|").includes(one.value)) &&
        words.every((word) => texts[i].includes(word))
      );
      shown += !item.hidden;
    });
    button.hidden = most === items.length;
    count.value = `${shown} of ${items.length} shown`;
  };
  form.addEventListener("input", filter);
  form.addEventListener("submit", (event) => event.preventDefault());
  button.addEventListener("click", () => {
    all = true;
    filter();
  });
  form.hidden = false;
  filter();
}
// Above what is wider than the window stands a line that says so, until its end is reached.
for (const box of document.querySelectorAll(".scroll")) {
  const cue = box.previousElementSibling;
  const update = () => {
    const left = box.scrollWidth - box.clientWidth - box.scrollLeft;
    box.classList.toggle("more", left > 1);
    cue.hidden = box.scrollWidth - box.clientWidth <= 1;
  };
  box.addEventListener("scroll", update, { passive: true });
  new ResizeObserver(update).observe(box);
}
