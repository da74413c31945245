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

/** The objects that the tables of `docs/from_*.md` name. */
const OBJECTS = `
import * as cuda from "@gridstride/cuda";
import * as memory from "@gridstride/cuda/memory";
import * as tensors from "@gridstride/cuda/tensor";
import * as trace from "@gridstride/cuda/trace";
export declare const x: tensors.Tensor<"float32">, y: typeof x, z: typeof x;
export declare const mask: tensors.Tensor<"bool">, indices: tensors.Tensor<"int64">;
export declare const device: cuda.Device, peer: cuda.Device, stream: cuda.Stream;
export declare const event: cuda.Event, start: cuda.Event, graph: cuda.Graph;
export declare const buffer: cuda.DeviceBuffer<"float32">, other: typeof buffer;
export declare const pinned: cuda.PinnedBuffer<"float32">, pool: cuda.MemoryPool;
export declare const module: cuda.Module, kernel: cuda.Kernel<"scale(float* x, int n)">;
export declare const array: Float32Array<ArrayBuffer>, image: Uint8Array<ArrayBuffer>;
export declare const source: string, path: string, diagnostic: cuda.Diagnostic;
const entries = { ...cuda, ...memory, ...tensors, ...trace };
`;

/** The code in the last column of the tables of a page whose heading there is "Gridstride". */
export function comparedCode(text: string): string[] {
  const tables = text.matchAll(/^\|.*\| Gridstride +\|\n\|[-| ]+\|\n((?:\|.*\|\n)+)/gm);
  return [...tables].flatMap(([, rows]) =>
    rows!.trimEnd().split("\n").flatMap((row) => {
      const [, cell] = /\|((?:`[^`]*`|[^|`])*)\|$/.exec(row)!;
      return [...cell!.matchAll(/`([^`]+)`/g)].map(([, code]) => code!);
    })
  ).filter((code) => !code.startsWith("gridstride "));
}

/**
 * A program of the code in the tables of a page that compares names. Its types are right if every
 * name is exported, and takes these arguments.
 */
export function comparisonProgram(path: string): string {
  const code = comparedCode(Deno.readTextFileSync(repositoryPath(path)));
  const names = code.flatMap((text) =>
    text.replaceAll(/"[^"]*"/g, "").match(
      /(?<![.\w])[a-z]\w*(?=\()|(?<![.\w])(?!Symbol)[A-Z]\w*\b(?!:)/g,
    ) ?? []
  );
  const statements = code.map((text) => `export const _ = async () => {\n  ${text};\n};`)
    .map((text, index) => text.replace("_", `line${index}`));
  return `${OBJECTS}const { ${[...new Set(names)].join(", ")} } = entries;\n${
    statements.join("\n")
  }\n`;
}

/** The pages that compare names. */
export const COMPARISONS = ["docs/from_cuda.md", "docs/from_numpy.md"];
