import { assert, assertEquals } from "@std/assert";
import { DECLARATIONS, SYMBOLS } from "../../src/ffi/declarations.ts";
import { declarationCount, headerFunctions } from "../support/header.ts";

const functions = headerFunctions();
const declarations: Readonly<Record<string, string>> = DECLARATIONS;

Deno.test("`headerFunctions()` finds every declaration", () => {
  assertEquals(functions.length, declarationCount());
  assert(functions.length > 40);
});

Deno.test("`DECLARATIONS` contains the functions of the headers with their parameters", () => {
  const table = Object.fromEntries(
    Object.entries(declarations).filter(([key]) => !key.endsWith("_async")),
  );
  const header = functions.map(({ name, parameters }) => [name, parameters.join(", ")]);
  assertEquals(table, Object.fromEntries(header));
});

Deno.test("`SYMBOLS` have the types of the headers", () => {
  for (const { name, types } of functions) {
    assertEquals(SYMBOLS[name], { parameters: [...types], result: "i32" }, name);
  }
});

Deno.test("`SYMBOLS` binds only waiting functions without memory as nonblocking", () => {
  for (const [key, symbol] of Object.entries(SYMBOLS)) {
    if (!key.endsWith("_async")) continue;
    const name = key.slice(0, -"_async".length);
    const declared = functions.find((candidate) => candidate.name === name);
    assertEquals(declarations[key], declared?.parameters.join(", "), key);
    assert(declared?.waits, key);
    // The memory could be freed with its isolate.
    const parameters = [...declared.types];
    assert(!parameters.includes("buffer"), key);
    assertEquals(symbol, { name, parameters, result: "i32", nonblocking: true }, key);
  }
});

Deno.test("`DECLARATIONS` has no function with more than 16 parameters", () => {
  // The JIT aborts the process at 30, and beyond 16 a call is slower than the command block.
  for (const { name, types } of functions) assert(types.length <= 16, name);
});
