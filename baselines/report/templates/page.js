"use strict";
// Each form filters the list that its data-for names: an item stays where it has every value that is
// chosen, in its data- attributes, and every word that is looked for, in its text.
for (const form of document.querySelectorAll("form[data-for]")) {
  const items = [...document.getElementById(form.dataset.for).children];
  const texts = items.map((item) => item.textContent.toLowerCase());
  const count = form.querySelector("output");
  const filter = () => {
    const chosen = [...form.querySelectorAll("select")].filter((one) => one.value);
    const words = form.querySelector("input").value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    items.forEach((item, i) => {
      item.hidden = !(
        chosen.every((one) => item.dataset[one.name] === one.value) &&
        words.every((word) => texts[i].includes(word))
      );
      shown += !item.hidden;
    });
    count.value = `${shown} of ${items.length} shown`;
  };
  form.addEventListener("input", filter);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.hidden = false;
  filter();
}
