// Every environment variable of the documentation is read by a source, and the reverse.

import { assert, assertEquals } from "@std/assert";
import { filesBelow, textOf } from "./repository.ts";

/** The variables in the table of the documentation. */
function documentedVariables(): string[] {
  const cells = textOf("docs/environment.md").split("\n").map((line) => line.split("|")[1] ?? "");
  return cells.flatMap((cell) => [...cell.matchAll(/`([A-Z][A-Z_]+)`/g)].map(([, name]) => name!));
}

const sources = ["build.ts", ...filesBelow("src/"), ...filesBelow("csrc/")]
  .filter((file) => /\.(?:ts|cu|cpp|h)$/.test(file))
  // Comments do not read anything.
  .map((file) => textOf(file).replace(/^\s*(?:\*|\/\/|\/\*).*$/gm, ""));

Deno.test("Every environment variable of the documentation is read by a source", () => {
  const names = documentedVariables();
  assert(names.length >= 10, `there are only ${names.length} in the table`);
  const unread = names.filter((name) => !sources.some((text) => text.includes(`"${name}"`)));
  assertEquals(unread, []);
});

Deno.test("Every GRIDSTRIDE variable of a source is documented", () => {
  const names = new Set(
    sources.flatMap((text) => text.match(/(?<=")GRIDSTRIDE_[A-Z_]+(?=")/g) ?? []),
  );
  const documented = documentedVariables();
  assertEquals([...names].filter((name) => !documented.includes(name)), []);
});
