/**
 * The order of rounds: permutations, each followed by its reverse, in which all meet.
 */

import { assert, assertEquals } from "@std/assert";
import { roundOrder } from "../../../src/lab/tuning/round_order.ts";

const COUNTS = [0, 1, 2, 3, 7, 31, 1000];

Deno.test("each round has each place once, and is the same when it is asked for again", () => {
  for (const count of COUNTS) {
    const places = Array.from({ length: count }, (_, place) => place);
    for (let round = 0; round < 9; round++) {
      const order = roundOrder(count, round);
      assertEquals(order.toSorted((one, other) => one - other), places);
      assertEquals(roundOrder(count, round), order);
    }
  }
});

Deno.test("the second of two rounds is the reverse of the first, the third another", () => {
  for (const count of COUNTS) {
    for (const round of [0, 2, 28]) {
      assertEquals(roundOrder(count, round + 1), roundOrder(count, round).reverse());
    }
  }
  assert(roundOrder(1000, 0).join() !== roundOrder(1000, 2).join());
});

Deno.test("each one comes behind each other, none much more often than the rest", () => {
  const rounds = 600;
  for (const count of [2, 3, 5, 12]) {
    const pairs = new Map<string, number>();
    for (let round = 0; round < rounds; round++) {
      const order = roundOrder(count, round);
      for (let place = 1; place < count; place++) {
        const pair = `${order[place - 1]} ${order[place]}`;
        pairs.set(pair, (pairs.get(pair) ?? 0) + 1);
      }
    }
    // Each of count (count - 1) pairs is next to one another in a share 1 / count of the rounds.
    const expected = rounds / count;
    assertEquals(pairs.size, count * (count - 1));
    for (const [pair, times] of pairs) {
      const isUsual = Math.abs(times - expected) < 6 * Math.sqrt(expected);
      assert(isUsual, `${pair} of ${count}: ${times} times, not ${expected}`);
    }
  }
});
