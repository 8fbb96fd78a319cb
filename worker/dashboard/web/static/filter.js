// A Filter is the form of a page. Its fields filter, except those that are choices: of a sensor, or of an order.
export class Filter {
  constructor(form) { [this.form, this.fields] = [form, form.elements]; }

  // asked returns what was entered, as it is in the page's address.
  asked() { return this.#query((field) => !("choice" in field.dataset)); }

  // applied returns what selects: what was entered, without what is wrong.
  applied() { return this.#query((field) => !("choice" in field.dataset) && !field.matches("[aria-invalid]")); }

  #query(has) {
    return new URLSearchParams([...this.fields].filter((field) => field.name && field.value && has(field)).map((field) => [field.name, field.value]));
  }

  // wrong says beside a field what the server says of it. It reports whether the form has that field.
  wrong(problem) {
    const field = problem.param && this.fields[problem.param];
    if (!field?.value || field.matches("[aria-invalid]")) return false;
    field.setAttribute("aria-invalid", "true");
    this.#say(field, `${problem.detail} This is not applied.`);
    return true;
  }

  // changed forgets what was wrong: it may be right by now.
  changed() {
    for (const field of this.form.querySelectorAll("[aria-invalid]")) {
      field.removeAttribute("aria-invalid");
      this.#say(field, "");
    }
  }

  #say(field, text) {
    const place = document.getElementById("wrong-" + field.name);
    if (place) [place.textContent, place.hidden] = [text, !text];
  }
}
