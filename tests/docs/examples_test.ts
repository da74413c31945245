import { assert, assertEquals } from "@std/assert";
import { repositoryPath, runPrograms, typeErrors } from "../support/subprocess.ts";

/** A piece of TypeScript in the documentation. */
interface Example {
  readonly place: string;
  readonly source: string;
}

/** Examples of a file that a reader can run: they import the package by its name. */
function examplesOf(path: string): Example[] {
  const text = Deno.readTextFileSync(repositoryPath(path));
  return [...text.matchAll(/^( *\* )?```ts\n([\s\S]*?)^(?: *\* )?```$/gm)]
    .map(({ index, 1: star, 2: body }) => ({
      place: `${path}:${text.slice(0, index).split("\n").length}`,
      source: star === undefined ? body! : body!.replace(/^ *\* ?/gm, ""),
    }))
    .filter(({ source }) => /"@gridstride\/cuda(?:\/analysis|\/memory|\/tensor)?"/.test(source));
}

function sourceFiles(directory: string): string[] {
  return [...Deno.readDirSync(repositoryPath(directory))].flatMap(({ name, isDirectory }) => {
    const path = `${directory}/${name}`;
    if (isDirectory) return sourceFiles(path);
    return name.endsWith(".ts") ? [path] : [];
  });
}

/** Examples that build or say where a library is cannot run here: they are only type-checked. */
const NEEDS_ANOTHER_MACHINE = /build\(|load\(\{ path: "\/opt/;

const written = ["README.md", ...sourceFiles("src")].flatMap(examplesOf);
const examples = written.filter(({ source }) => !NEEDS_ANOTHER_MACHINE.test(source));

Deno.test("the documentation has examples to run", () => {
  assert(examples.length >= 15, `there are ${examples.length}`);
});

Deno.test("every example of the documentation is of the right types", async () => {
  const sources = new Map(written.map(({ place, source }) => [place, source]));
  assertEquals(sources.size, written.length);
  assertEquals(await typeErrors(sources), "");
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
