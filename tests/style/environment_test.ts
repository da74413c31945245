// Every environment variable of the documentation is read by a source, and the reverse. Tests that
// simulate devices do so on every machine.

import { assert, assertEquals } from "@std/assert";
import { processEnvironment } from "../support/subprocess.ts";
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

Deno.test("A process with simulated devices inherits no choice of a device", () => {
  const inherited = { GRIDSTRIDE_DEVICE: "cuda", CUDA_VISIBLE_DEVICES: "1", PATH: "/bin" };
  const started = (changes: Record<string, string | undefined>) =>
    processEnvironment(changes, inherited);
  const fakes = { GRIDSTRIDE_FAKE: "1GiB@8.9" };
  const expected = { ...fakes, PATH: "/bin", NO_COLOR: "1" };
  assertEquals(started(fakes), expected);
  const chosen = { GRIDSTRIDE_DEVICE: "host:0" };
  assertEquals(started({ ...fakes, ...chosen }), { ...expected, ...chosen });
  assertEquals(started({ GRIDSTRIDE_FAKE: undefined }), { ...inherited, NO_COLOR: "1" });
  // A test that starts a process by itself takes its environment from there.
  const tests = filesBelow("tests/").filter((file) => /(?<!style\/\w+)_test\.ts$/.test(file));
  assert(tests.length > 100);
  assertEquals(tests.filter((file) => /env: \{[^}]*GRIDSTRIDE_FAKE/.test(textOf(file))), []);
});
