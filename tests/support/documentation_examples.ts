/**
 * The examples of the documentation.
 *
 * @module
 */

import { repositoryPath } from "./subprocess.ts";

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
    .filter(({ source }) => /"@gridstride\/cuda(?:\/\w+)?"/.test(source));
}

function sourceFiles(directory: string): string[] {
  return [...Deno.readDirSync(repositoryPath(directory))].flatMap(({ name, isDirectory }) => {
    const path = `${directory}/${name}`;
    if (isDirectory) return sourceFiles(path);
    return name.endsWith(".ts") ? [path] : [];
  });
}

/** README and the pages of `docs/`. */
export function documentPaths(): string[] {
  const pages = [...Deno.readDirSync(repositoryPath("docs"))].map(({ name }) => name)
    .filter((name) => name.endsWith(".md"));
  return ["README.md", ...pages.sort().map((name) => `docs/${name}`)];
}

/** The examples of the documents and of the sources. */
export function documentationExamples(): Example[] {
  return [...documentPaths(), ...sourceFiles("src")].flatMap(examplesOf);
}
