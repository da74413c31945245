import { assertEquals, assertNotEquals, assertThrows } from "@std/assert";
import { canonicalText } from "../../../src/lab/tuning/tuning_options.ts";

const text = (value: unknown) => canonicalText(value, "options.key");

Deno.test("canonicalText() ignores the order of properties, and no other", () => {
  assertEquals(
    text({ rows: 1, columns: { b: 2, a: 3 } }),
    text({ columns: { a: 3, b: 2 }, rows: 1 }),
  );
  assertEquals(text({ 10: 1, 9: 2 }), text({ 9: 2, 10: 1 }));
  assertNotEquals(text([1, 2]), text([2, 1]));
  assertEquals(text({ rows: 1, columns: undefined }), text({ rows: 1 }));
  assertEquals(text(-0), text(0));
  assertEquals(text(Object.assign(Object.create(null), { a: 1 })), text({ a: 1 }));
});

Deno.test("canonicalText() of different values differs", () => {
  const values = [
    ...[0, 1, "1", 1n, -1, 1.5, 1e300, true, "true", null, "null", "", [], {}, [[]], [{}], [null]],
    ...[[1, 2], ["1,2"], [[1], 2], { a: 1 }, { a: "1" }, { a: 1n }, { "a:1": 1 }, '{"a":1}'],
    ...[{ a: { b: 1 } }, { a: 1, b: 1 }, "é", "e\u0301", 2 ** 53, 2n ** 53n, "\ud800", "\udfff"],
  ];
  assertEquals(new Set(values.map(text)).size, values.length);
});

/** A small object with a text of 2 to the power of `times` numbers. */
function doubled(times: number): unknown {
  let value: unknown = 1;
  for (let time = 0; time < times; time++) value = [value, value];
  return value;
}

Deno.test("canonicalText() refuses values that are no plain data, and names the place", () => {
  const cycle: Record<string, unknown> = { rows: 1 };
  cycle["self"] = [cycle];
  let deep: unknown = 1;
  for (let depth = 0; depth < 100; depth++) deep = [deep];
  for (
    const [value, message] of [
      [() => 1, "options.key must be plain data"],
      [{ a: [1, Symbol("s")] }, "options.key.a[1] must be plain data"],
      [{ a: NaN }, "options.key.a must be plain data"],
      [[Infinity], "options.key[0] must be plain data"],
      [undefined, "it is undefined"],
      [[1, undefined], "options.key[1]"],
      [new Array(2), "options.key[0]"],
      [new Map(), "it is a Map"],
      [new Date(0), "it is a Date"],
      [new Uint8Array(2), "it is a Uint8Array"],
      [cycle, "it is more than 64 deep"],
      [deep, "it is more than 64 deep"],
      [{ [Symbol("s")]: 1 }, "it has a symbol for a name"],
      [new Array(100_000).fill(0), "it has more than 100000 values"],
      [doubled(60), "it has more than 100000 values"],
    ] as const
  ) {
    assertThrows(() => text(value), TypeError, message);
  }
  // The same object twice is no cycle.
  const shared = { a: 1 };
  assertEquals(text([shared, shared]), '[{"a":1},{"a":1}]');
});
