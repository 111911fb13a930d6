// The way through a list of issues: which list an issue was opened from, its place there, and its
// neighbours. It is of the page alone: an issue that begins a page has no list. The words that the
// list was searched for are in the address of the issue.
import { leftAt } from "./list.js";

/** The filters whose words are in what a conversation shows. */
const SEARCHED = ["text", "title", "messages", "notes"];

/**
 * A list: its name, its records, and the words searched for as a query.
 * @typedef {{name:string, pages:import("./pages.js").Pages, query:string}} List
 */
let now = /** @type {{list:List, place:number}|null} */ (null);
addEventListener("forget", () => (now = null));

/** The words of a list's filters that an issue of it marks, as the query of its address. */
export function wordsOf(/** @type {URLSearchParams} */ params) {
  const words = [...params].filter(([name, value]) => SEARCHED.includes(name) && value);
  return words.length ? `?${new URLSearchParams(words)}` : "";
}
/** Those words, from the address of the issue. */
export const hitsOf = (/** @type {URLSearchParams} */ params) =>
  SEARCHED.map((name) => params.get(name) ?? "").filter(Boolean);

/** An issue of a list is opened. @param {List} list @param {number} place */
export function opened(list, place) {
  now = { list, place };
}

/** The neighbours of an issue, if it was opened from a list. */
export function walkOf(/** @type {string} */ id) {
  if (!now || String(now.list.pages.at(now.place)?.id) !== id) return null;
  return new Walk(now.list, now.place);
}

/** @typedef {InstanceType<typeof Walk>} WalkOf */
class Walk {
  constructor(/** @type {List} */ list, /** @type {number} */ place) {
    this.list = list;
    this.place = place;
    this.length = list.pages.length;
  }
  /**
   * The address of the next issue in a direction; null at the end. Issues that left the list since
   * it was read are passed over.
   * @param {number} by 1 or -1
   */
  async step(by) {
    const { pages, name, query } = this.list;
    for (let place = this.place + by; place >= 0 && place < this.length; place += by) {
      if (pages.at(place) === undefined) await load(pages, place);
      const issue = pages.at(place);
      if (!issue) continue;
      now = { list: this.list, place };
      leftAt(name, place);
      return `issue/${issue.id}${query}`;
    }
    return null;
  }
}

/** Loads a place. */
const load = (/** @type {import("./pages.js").Pages} */ pages, /** @type {number} */ place) =>
  pages.load(
    () => [place, place + 1],
    () => {},
  );
