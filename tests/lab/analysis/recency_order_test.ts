import { assertEquals } from "@std/assert";
import { FIRST, RecencyOrder } from "../../../src/lab/analysis/recency_order.ts";
import { unitDraws } from "./reuse_references.ts";

/** An order and a list of the same members, of which the distances are compared. */
class ComparedOrder {
  readonly #order: RecencyOrder;
  readonly #list: number[] = [];

  constructor(capacity: number) {
    this.#order = new RecencyOrder(capacity);
  }

  use(members: readonly number[]): void {
    const distances = new Int32Array(members.length);
    this.#order.useAll(Int32Array.from(members), members.length, distances);
    assertEquals(
      [...distances],
      members.map((member) => {
        const place = this.#list.lastIndexOf(member);
        const distance = place < 0 ? FIRST : this.#list.length - 1 - place;
        if (place >= 0) this.#list.splice(place, 1);
        this.#list.push(member);
        return distance;
      }),
    );
  }

  remove(member: number): void {
    const place = this.#list.indexOf(member);
    if (place < 0) return;
    this.#list.splice(place, 1);
    this.#order.remove(member);
  }
}

Deno.test("distances are those in a list, for any number of members and wherever the row ends", () => {
  for (const capacity of [1, 2, 31, 32, 33, 255, 256, 257, 300, 1001, 1500]) {
    const order = new ComparedOrder(capacity);
    const unit = unitDraws(capacity);
    // Rows are four times as long as members are many, and 1024 places at least.
    for (let round = 0; round < 3 + 12 * Math.max(1024, 4 * capacity) / 4096; round++) {
      const few = round % 3 === 1 ? Math.ceil(capacity / 10) : capacity;
      order.use(Array.from({ length: 1024 }, () => 1 + Math.floor(unit() * few)));
    }
  }
});

Deno.test("members that were taken out are none, and come back as new ones", () => {
  const order = new ComparedOrder(700);
  const unit = unitDraws(3);
  for (let round = 0; round < 20; round++) {
    order.use(Array.from({ length: 700 }, () => 1 + Math.floor(unit() * 700)));
    for (let member = 1 + round; member <= 700; member += 1 + round % 5) order.remove(member);
    order.use([1 + round, 1 + round, 1, 700]);
  }
});
