import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { documentationExamples } from "../support/documentation_examples.ts";
import { checkedExample, isShown } from "../support/shown_output.ts";
import { runPrograms } from "../support/subprocess.ts";

/** Examples that build or say where a library is cannot run here: they are only type-checked. */
const NEEDS_ANOTHER_MACHINE = /build\(|load\(\{ path: "\/opt/;

const examples = documentationExamples().filter(({ source }) =>
  !NEEDS_ANOTHER_MACHINE.test(source)
);

Deno.test("the documentation has examples to run", () => {
  assert(examples.length >= 15, `there are ${examples.length}`);
});

Deno.test("runPrograms() names a program that fails, and runs the next one", async () => {
  const programs = [["one.md:1", 'throw new Error("wrong")'], ["one.md:9", 'console.log("next")']];
  const { code, stdout, stderr } = await runPrograms(new Map(programs as [string, string][]));
  assertEquals([code, stdout], [1, "next\n"]);
  assertStringIncludes(stderr, "one.md:1 fails: Error: wrong");
});

Deno.test("isShown() compares values with the comment after console.log()", () => {
  const vector = Float32Array.of(1, 2);
  const right: [unknown[], string][] = [
    [[[1, 2.71828], "text", true], "[ 1, 2.718 ] text true"],
    [[vector, 3n], "Float32Array(2) [ 1, 2 ] 3n"],
    [[vector], "[ 1, 2 ]"],
    [[13.9583], "13.95…"],
    [[161.25], "161.25: one kernel"],
    [[{ kind: "free" }], '{ kind: "free" }'],
  ];
  for (const [values, comment] of right) assert(isShown(values, comment), comment);
  const wrong: [unknown[], string][] = [
    [[[1, 2.71828]], "[ 1, 2.717 ]"],
    [[[1, 2.71828]], "[ 1, 3 ]"],
    [[vector], "Float64Array(2) [ 1, 2 ]"],
    [[vector], "[ 1, 2, 3 ]"],
    [[161.25], "161: one kernel"],
    [[{ kind: "free" }], '{ kind: "allocate" }'],
  ];
  for (const [values, comment] of wrong) assert(!isShown(values, comment), comment);
});

Deno.test("every example of the documentation runs and prints what its comments show", async () => {
  const [even, odd] = [0, 1].map((parity) =>
    new Map(
      examples.filter((_, index) => index % 2 === parity)
        .map(({ place, source }) => [place, checkedExample(source)]),
    )
  );
  const results = await Promise.all(
    [even!, odd!].map((some) => runPrograms(some, { permissions: ["-A", "--no-check"] })),
  );
  for (const { code, stdout, stderr } of results) {
    assertEquals(code, 0, stderr);
    assert(stdout.endsWith("all have run\n"), stderr);
  }
});
