// Every environment variable that the documents promise is read by something: a variable that
// nothing reads does nothing, and nobody would notice.

import { assert, assertEquals } from "@std/assert";
import { filesBelow, textOf } from "./repository.ts";

/** The variables of a document's table of the environment. */
function documentedVariables(document: string): string[] {
  const section = /^## Environment\n([\s\S]*?)(?=^## )/m.exec(textOf(document))?.[1] ?? "";
  const cells = section.split("\n").map((line) => line.split("|")[1] ?? "");
  return cells.flatMap((cell) => [...cell.matchAll(/`([A-Z][A-Z_]+)`/g)].map(([, name]) => name!));
}

const sources = ["build.ts", ...filesBelow("src/"), ...filesBelow("csrc/")]
  .filter((file) => /\.(?:ts|cu|cpp|h)$/.test(file))
  // Comments promise as much as documents do.
  .map((file) => textOf(file).replace(/^\s*(?:\*|\/\/|\/\*).*$/gm, ""));

for (const document of ["README.md", "ARCHITECTURE.md"]) {
  Deno.test(`every environment variable of ${document} is read by a source`, () => {
    const names = documentedVariables(document);
    assert(names.length >= 10, `there are only ${names.length} in the table`);
    const unread = names.filter((name) => !sources.some((text) => text.includes(`"${name}"`)));
    assertEquals(unread, []);
  });
}

Deno.test("every variable of our own that a source reads is in both tables", () => {
  const names = new Set(
    sources.flatMap((text) => text.match(/(?<=")GRIDSTRIDE_[A-Z_]+(?=")/g) ?? []),
  );
  const documented = ["README.md", "ARCHITECTURE.md"].map(documentedVariables);
  const missing = [...names].filter((name) => documented.some((list) => !list.includes(name)));
  assertEquals(missing, []);
});
