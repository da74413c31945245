import { assert, assertEquals } from "@std/assert";
import { filesBelow, textOf } from "./repository.ts";

const page = textOf("csrc/host/DIFFERENCES.md");

/** The names of the checks that the last columns of the tables give. */
function namedChecks(): string[] {
  const tables = page.split(/\n\n+/).filter((part) => /^\|.*\| check +\|$/m.test(part));
  return tables.flatMap((table) =>
    table.split("\n").slice(2).flatMap((row) => {
      const cell = row.split(/(?<!\\)\|/).at(-2)!.trim();
      return cell.startsWith("none") ? [] : cell.split(",").map((name) => name.trim());
    })
  );
}

Deno.test("every check that DIFFERENCES.md names is there", () => {
  const sources = filesBelow("tests/native/language/").map(textOf).join("\n");
  const checks = [...sources.matchAll(/\bCheck (\w[^;{]*);/g)]
    .flatMap(([, made]) => [...made!.matchAll(/\w\("([^"]+)"\)/g)].map(([, name]) => name!));
  const suites = [
    ...textOf("tests/native/runtime_test.cpp").matchAll(/\{"([a-z ]+)", check_\w+\}/g),
  ]
    .map(([, name]) => name!);
  const listed = textOf("tests/launch/compile/strictness_test.ts");
  const known = new Set([...checks, ...suites]);
  const named = namedChecks();
  assert(named.length >= 60, `${named.length}`);
  assertEquals(named.filter((name) => !known.has(name) && !listed.includes(`"${name}": [`)), []);
});

Deno.test("every test that DIFFERENCES.md names is there", () => {
  const files = filesBelow("tests/");
  const named = [...page.matchAll(/`([\w/*]+\.(?:cpp|ts))`/g)].map(([, name]) => name!);
  const missing = named.filter((name) => {
    const pattern = new RegExp(`(?:^|/)${name.replaceAll(".", "\\.").replaceAll("*", "\\w+")}$`);
    return !files.some((file) => pattern.test(file));
  });
  assertEquals(missing, []);
});
