// A dialog with a secret that the server shows once.
import { button, copy, dialog } from "./ui.js";
import { h } from "./view.js";

/** @param {string} title @param {string} secret @param {string} text */
export function showSecret(title, secret, text) {
  const shown = h("code", { class: "secret", tabindex: 0 }, secret);
  const copying = button("Copy", () => copy("The secret", secret, shown));
  return dialog(title, [h("p", null, text), shown, copying], { label: "Close" });
}
