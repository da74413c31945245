import { assert, assertEquals } from "@std/assert";
import { SYMBOLS } from "../../src/ffi/library.ts";
import { declarationCount, headerFunctions } from "../support/header.ts";

const functions = headerFunctions();
const table: Record<string, Deno.ForeignFunction & { name?: string }> = SYMBOLS;

Deno.test("the header reader finds every declaration", () => {
  assertEquals(functions.length, declarationCount());
  assert(functions.length > 40);
});

Deno.test("every function of the header stands in the tables with its parameters", () => {
  for (const { name, types } of functions) {
    const symbol = table[name];
    assert(symbol !== undefined, `${name} is missing in the tables`);
    assertEquals([...symbol.parameters], [...types], name);
    assertEquals(symbol.result, "i32", name);
    assertEquals(symbol.nonblocking, undefined, name);
  }
});

Deno.test("the tables name no function that the header lacks", () => {
  const known = new Map(functions.map((declared) => [declared.name, declared]));
  for (const [key, symbol] of Object.entries(table)) {
    const name = symbol.name ?? key;
    const declared = known.get(name);
    assert(declared !== undefined, `${key} is not in the header`);
    assertEquals([...symbol.parameters], [...declared.types], key);
  }
});

Deno.test("only functions that the header marks as waiting are bound as nonblocking", () => {
  for (const [key, symbol] of Object.entries(table)) {
    if (symbol.nonblocking !== true) continue;
    assertEquals(key, `${symbol.name}_async`);
    assert(functions.find(({ name }) => name === symbol.name)?.waits, symbol.name);
  }
});

Deno.test("no function that is bound as nonblocking takes memory, which may go with its isolate", () => {
  for (const [key, { nonblocking, parameters }] of Object.entries(table)) {
    if (nonblocking === true) assert(!parameters.includes("buffer"), key);
  }
});

Deno.test("no function has more than 16 parameters", () => {
  // The JIT aborts the process at 30, and beyond 16 a call is slower than the command block.
  for (const { name, types } of functions) assert(types.length <= 16, name);
});

Deno.test("the C comment of every parameter in the tables is its declaration in the header", async () => {
  const folder = new URL("../../src/ffi/", import.meta.url);
  const files = [...Deno.readDirSync(folder)].filter(({ name }) => /^symbols_\w+\.ts$/.test(name))
    .map(({ name }) => new URL(name, folder));
  const text = (await Promise.all(files.map((file) => Deno.readTextFile(file)))).join("\n");
  for (const { name, parameters } of functions) {
    const start = text.indexOf(`  ${name}: {`);
    const end = text.indexOf("result:", start);
    const comments = [...text.slice(start, end).matchAll(/\/\* (.*?) \*\//g)].map((match) =>
      match[1]
    );
    assertEquals(comments, [...parameters], name);
  }
});
