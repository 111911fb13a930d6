// The list of all shortcuts. The shell and the screens act on them.
import { dialog } from "./ui.js";
import { h } from "./view.js";

const KEYS = [
  ["j / k", "next, previous (also in an issue)"],
  ["Enter", "open (the first one if none is selected)"],
  ["Esc", "back, close"],
  ["/", "search or filter"],
  ["x / Shift + x", "mark an issue for an edit of many, mark all up to this one"],
  ["Ctrl + A", "mark all issues of the list"],
  ["f", "choose a state (in the list of issues)"],
  ["v / d", "save the list as a view, export it (in the list of issues)"],
  ["d", "download (in the exports)"],
  ["a", "the author of an issue (in the list)"],
  ["e / u", "edit a faulty value, undo (in faults)"],
  ["r / n", "reply, note (in an issue)"],
  ["Ctrl + Enter", "the main button: try, make real, mend, send, edit, export"],
  ["r", "the range (in the overview)"],
  ["n", "a new key (in the settings)"],
  ["g 1 … g 9", "the named views"],
  ["c", "the last calls as curl"],
  ["?", "this list"],
];

/** Shows them, with those of the screens. @param {string[][]} screens */
export function shortcuts(screens) {
  const row = (/** @type {string[]} */ [key, text]) =>
    h("tr", null, h("th", { scope: "row" }, h("kbd", null, key)), h("td", null, text));
  return dialog("Shortcuts", h("table", { class: "keys" }, [...KEYS, ...screens].map(row)), {
    label: "Close",
  });
}
