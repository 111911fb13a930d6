// What somebody has written and not sent, by where it belongs. It is kept in the page alone: when
// another screen is shown, and when the session ended by itself. Signing out forgets it.
import { me } from "./api.js";

/** @typedef {{unsent:()=>boolean}} Draft */
const drafts = /** @type {Map<string, Draft>} */ (new Map());
const DRAFTS_MAX = 50;

addEventListener(
  "beforeunload",
  (event) => [...drafts.values()].some((draft) => draft.unsent()) && event.preventDefault(),
);
addEventListener("forget", () => drafts.clear());

/**
 * The draft of a place, such as an issue. Of those without anything unsent only the last ones are
 * kept.
 * @template {Draft} T @param {string} place @param {()=>T} make @returns {T}
 */
export function draftOf(place, make) {
  const name = `${me().domain} ${place}`;
  const found = /** @type {T} */ (drafts.get(name) ?? make());
  drafts.delete(name);
  drafts.set(name, found);
  for (const [one, draft] of drafts)
    if (drafts.size > DRAFTS_MAX && !draft.unsent()) drafts.delete(one);
  return found;
}
