// An isolate can load this module twice: two versions of it, or one under two addresses. The query
// makes a second copy of the one file here.

import { assertEquals, assertStrictEquals } from "@std/assert";
import { isolateCommandBlock } from "../../src/ffi/command_block.ts";
import { device } from "../support/device.ts";

const { path, block } = device.context.library;
const copiedBlock = await import("../../src/ffi/command_block.ts?copy");
const copiedLibrary = await import("../../src/ffi/library.ts?copy");
const opened = copiedLibrary.openNativeLibrary(path);

Deno.test("`isolateCommandBlock()` returns one block for all copies of the module", () => {
  assertStrictEquals(copiedBlock.isolateCommandBlock(), isolateCommandBlock());
  assertStrictEquals(block, isolateCommandBlock());
});

Deno.test("`openNativeLibrary()` of a second copy keeps the operands of the first", async () => {
  assertStrictEquals(opened.block, block);
  using x = device.upload(Int32Array.of(1, 2, 3));
  using y = device.allocate("int32", 3, { fill: 7 });
  assertEquals([...await x.toArray(), ...await y.toArray()], [1, 2, 3, 7, 7, 7]);
});
