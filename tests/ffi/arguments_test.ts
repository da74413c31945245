// The first words of errors about arguments.

import { assert, assertEquals } from "@std/assert";
import { cannot } from "../../src/ffi/arguments.ts";
import { filesBelow, textOf } from "../style/repository.ts";

Deno.test("`cannot()` names an action by its verb, and a function by its call", () => {
  assertEquals(cannot("make a tensor"), "Cannot make a tensor");
  assertEquals(cannot("softmax"), "Cannot call softmax()");
});

Deno.test("Errors of operations begin by `cannot()`, as an action may be a function's name", () => {
  const files = ["src/kernels/", "src/tensor/", "src/ternary/"].flatMap((folder) =>
    filesBelow(folder)
  );
  assert(files.length > 50);
  const begin = /Cannot \$\{|["'`]Cannot \w+ (?:as|by) /;
  assertEquals(files.filter((file) => begin.test(textOf(file))), []);
});
