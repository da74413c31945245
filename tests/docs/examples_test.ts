import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { documentationExamples } from "../support/documentation_examples.ts";
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

Deno.test("every example of the documentation runs", async () => {
  const [even, odd] = [0, 1].map((parity) =>
    new Map(
      examples.filter((_, index) => index % 2 === parity)
        .map(({ place, source }) => [place, source]),
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
