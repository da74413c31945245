import {
  assert,
  assertEquals,
  AssertionError,
  assertRejects,
  assertStrictEquals,
  assertThrows,
} from "@std/assert";

Deno.test("assert() narrows its argument and throws when it is falsy", () => {
  const value: number | undefined = [7].find((element) => element > 5);
  assert(value !== undefined);
  const narrowed: number = value;
  assertStrictEquals(narrowed, 7);
  assertThrows(() => assert(0, "zero"), AssertionError, "zero");
});

Deno.test("assertThrows() fails when nothing is thrown, another class, or another text", () => {
  assertThrows(() => assertThrows(() => {}), AssertionError);
  const fail = () => {
    throw new RangeError("block.x");
  };
  const error: RangeError = assertThrows(fail, RangeError, "block");
  assertEquals(error.message, "block.x");
  assertThrows(() => assertThrows(fail, TypeError), AssertionError);
  assertThrows(() => assertThrows(fail, RangeError, "grid"), AssertionError);
});

Deno.test("assertRejects() resolves to the error and fails when the promise resolves", async () => {
  const error = await assertRejects(() => Promise.reject(new TypeError("dtype")), TypeError);
  assertEquals(error.message, "dtype");
  await assertRejects(() => assertRejects(() => Promise.resolve(1)), AssertionError);
});
