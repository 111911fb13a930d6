// The records of a list of the API by their place, however many there are. A page follows the
// record before it if that is known. Otherwise it has a number. Beyond the last number the list is
// halved by time until a part is short enough. Records far from those in view are forgotten.

const PAGE = 200;
/** The last record that a page with a number can have. */
const DEEPEST = 50000;
/** Records of a page when the list is walked to a place that nothing else leads to. */
const STEP = 1000;
const KEEP = 20000;

/**
 * A part of a list between two times.
 * @typedef {{since:number, until:number, start:number, length:number,
 *   halves?:Promise<Part[]>}} Part
 */

export class Pages {
  /**
   * `ask` answers one page in the envelope of lists, whose records are in the member `key`. `order`
   * says how the list is sorted: the parameters that bound its time, and time and id of a record. A
   * list without it has numbered pages alone.
   * @param {{ask:(params:any)=>Promise<any>, key:string, size?:number,
   *   order?:{since:string, until:string, newest:boolean, of:(record:any)=>[number, string]}}} list
   */
  constructor({ ask, key, order, size = PAGE }) {
    this.ask = ask;
    this.key = key;
    this.order = order;
    this.size = size;
    this.length = 0;
    this.records = /** @type {Map<number, any>} */ (new Map());
    this.busy = false;
    this.root = /** @type {Promise<Part>|null} */ (null);
  }
  /**
   * The record at a place: undefined until it is loaded, null if there is none now.
   * @param {number} place
   */
  at(place) {
    return this.records.get(place);
  }
  /** The first page, and how long the list is. */
  async begin() {
    const page = await this.ask({ page: 1, "page-size": this.size });
    this.length = page["total-hits"];
    this.put(0, page[this.key]);
  }
  /**
   * Loads the records of these places. `changed` is called after each page. Does nothing while it
   * works.
   * @param {()=>number[]} wanted @param {()=>void} changed
   */
  async load(wanted, changed) {
    if (this.busy) return;
    this.busy = true;
    try {
      for (;;) {
        const [first, last] = wanted();
        const place = this.missing(first, last);
        if (place < 0) return;
        await this.fetch(place);
        this.forget(place);
        changed();
      }
    } finally {
      this.busy = false;
    }
  }
  /** @param {number} first @param {number} last */
  missing(first, last) {
    for (let place = first; place < Math.min(last, this.length); place++)
      if (!this.records.has(place)) return place;
    return -1;
  }
  /** Loads a page with this place. @param {number} place */
  async fetch(place) {
    const { order, size } = this;
    const before = this.records.get(place - 1);
    if (order && before) this.put(place, await this.following(before, size), size);
    else if ((Math.floor(place / size) + 1) * size <= DEEPEST || !order)
      await this.numbered(place, { start: 0, length: this.length }, {});
    else await this.within(place, await this.part(place));
    // The list had this record when it was counted, and has lost it since.
    if (!this.records.has(place)) this.records.set(place, null);
  }
  /** @param {any} record @param {number} size @returns {Promise<any[]>} */
  async following(record, size) {
    const after = /** @type {any} */ (this.order).of(record).join(",");
    return (await this.ask({ after, "page-size": size }))[this.key];
  }
  /** @param {number} place @param {{start:number, length:number}} part @param {any} bounds */
  async numbered(place, { start, length }, bounds) {
    const page = Math.floor((place - start) / this.size);
    const found = (await this.ask({ ...bounds, page: page + 1, "page-size": this.size }))[this.key];
    const most = Math.min(this.size, length - page * this.size);
    this.put(start + page * this.size, found.slice(0, most), most);
  }
  /**
   * Loads a page of a part, by its number or by walking there.
   * @param {number} place @param {Part} part
   */
  async within(place, part) {
    const { since, until } = /** @type {any} */ (this.order);
    const bounds = { [since]: part.since, [until]: part.until };
    let known = part.start + DEEPEST - 1;
    if (place <= known) return this.numbered(place, part, bounds);
    for (const one of this.records.keys())
      if (one < place && one > known && this.records.get(one)) known = one;
    if (!this.records.get(known)) await this.numbered(known, part, bounds);
    while (known < place && this.records.get(known)) {
      const found = await this.following(this.records.get(known), STEP);
      this.put(known + 1, found, STEP);
      known += STEP;
      this.forget(known);
    }
  }
  /** The part of the list that has this place and numbered pages. @param {number} place */
  async part(place) {
    this.root ??= this.whole();
    let part = await this.root;
    while (part.length > DEEPEST && part.since < part.until) {
      part.halves ??= this.halves(part);
      const [first, second] = await part.halves;
      part = place < second.start ? first : second;
    }
    return part;
  }
  /** The whole list as a part: its times are those of its first and its last record. */
  async whole() {
    const order = /** @type {NonNullable<Pages["order"]>} */ (this.order);
    const [first] = (await this.ask({ page: 1, "page-size": 1 }))[this.key];
    const [last] = (
      await this.ask({ page: 1, "page-size": 1, "sort-order": order.newest ? "asc" : "desc" })
    )[this.key];
    const times = [order.of(first)[0], order.of(last)[0]].sort((a, b) => a - b);
    return { since: times[0], until: times[1], start: 0, length: this.length };
  }
  /** @param {Part} part @returns {Promise<Part[]>} */
  async halves({ since, until, start, length }) {
    const order = /** @type {NonNullable<Pages["order"]>} */ (this.order);
    const middle = Math.floor((since + until) / 2);
    const [early, late] = [
      { since, until: middle },
      { since: middle + 1, until },
    ];
    const [first, second] = order.newest ? [late, early] : [early, late];
    const some = (
      await this.ask({
        [order.since]: first.since,
        [order.until]: first.until,
        page: 1,
        "page-size": 1,
      })
    )["total-hits"];
    return [
      { ...first, start, length: some },
      { ...second, start: start + some, length: Math.max(0, length - some) },
    ];
  }
  /**
   * Records from a place on. Of `most` places, those without a record get null.
   * @param {number} from @param {any[]} found
   */
  put(from, found, most = found.length) {
    for (let at = 0; at < most && from + at < this.length; at++) {
      if (found[at] || !this.records.has(from + at)) this.records.set(from + at, found[at] ?? null);
    }
  }
  /** @param {number} place */
  forget(place) {
    if (this.records.size <= KEEP) return;
    for (const one of this.records.keys())
      if (Math.abs(one - place) > KEEP / 4) this.records.delete(one);
  }
}
