// The walks of ARCHITECTURE.md against the functions that V8 counts, in programs that run an operation
// once and many times. The operations wait for nothing, as those of a program that runs for a while.

import { assert, assertEquals } from "@std/assert";
import { repositoryPath, runProgram } from "../support/subprocess.ts";

const ROOT = repositoryPath("");

const MAX_FILES = 12;
const FEW = 2;
const MANY = 22;

/** The counts of a module's functions, as `deno run --coverage` writes them. */
interface ModuleCoverage {
  readonly url: string;
  readonly functions: readonly {
    readonly functionName: string;
    readonly ranges: readonly { readonly startOffset: number; readonly count: number }[];
  }[];
}

/** A program that runs an operation on tensors of 32 × 32 `float32` some times. */
function programOf(operation: string): string {
  return `
    import { attention, full } from "@gridstride/cuda/tensor";
    const x = full([1, 1, 32, 32], 1);
    const y = x.add(1);
    await y;
    for (let round = 0; round < Number(Deno.args[0]); round++) {
      using result = ${operation};
      await result;
    }
  `;
}

/** The calls of each function of the repository, by its file and its place there. */
async function callsIn(program: string, rounds: number): Promise<Map<string, number>> {
  const folder = await Deno.makeTempDir();
  try {
    const { code, stderr } = await runProgram(program, {
      permissions: ["-A", `--coverage=${folder}`],
      environment: { GRIDSTRIDE_DEVICE: "host", GRIDSTRIDE_SIMULATE: undefined },
      args: [`${rounds}`],
    });
    assertEquals(code, 0, stderr);
    const calls = new Map<string, number>();
    for await (const { name } of Deno.readDir(folder)) {
      if (!name.endsWith(".json")) continue;
      const module: ModuleCoverage = JSON.parse(await Deno.readTextFile(`${folder}/${name}`));
      const path = new URL(module.url).pathname;
      if (!path.startsWith(ROOT)) continue;
      const file = path.slice(ROOT.length);
      for (const { functionName, ranges: [whole] } of module.functions) {
        const key = `${file} ${functionName} ${whole!.startOffset}`;
        calls.set(key, (calls.get(key) ?? 0) + whole!.count);
      }
    }
    return calls;
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** The files below a folder of which each run of an operation calls a function. */
async function filesOf(operation: string, folder: string): Promise<string[]> {
  const program = programOf(operation);
  const [few, many] = [await callsIn(program, FEW), await callsIn(program, MANY)];
  const called = [...many].filter(([key, calls]) => calls - (few.get(key) ?? 0) >= MANY - FEW);
  const files = called.map(([key]) => key.slice(0, key.indexOf(" ")));
  return [...new Set(files)].filter((file) => file.startsWith(folder)).sort();
}

/** Asserts that a part of ARCHITECTURE.md, from a text up to another, names files. */
async function assertNamed(files: readonly string[], from: string, to: string): Promise<void> {
  const text = await Deno.readTextFile(repositoryPath("ARCHITECTURE.md"));
  const begin = text.indexOf(from);
  const end = text.indexOf(to, begin);
  assert(begin >= 0 && end > begin, `ARCHITECTURE.md has no ${from} before ${to}`);
  const walk = text.slice(begin, end);
  const unnamed = files.filter((file) =>
    !walk.includes(`${file.slice(file.lastIndexOf("/") + 1)}\``)
  );
  assertEquals(unnamed, []);
}

Deno.test("x.multiply(y) enters few files of src/tensor, which ARCHITECTURE.md names", async () => {
  const files = await filesOf("x.multiply(y)", "src/tensor/");
  assert(files.includes("src/tensor/kit/kernel_call.ts"), files.join("\n"));
  assert(files.length <= MAX_FILES, files.join("\n"));
  await assertNamed(files, "`x.multiply(y)` passes", "**Order.**");
});

Deno.test("matmul(x, y) enters the files that ARCHITECTURE.md names", async () => {
  const files = await filesOf("x.matmul(y)", "src/tensor/matmul/");
  assert(files.includes("src/tensor/matmul/variants.ts"), files.join("\n"));
  await assertNamed(files, "`matmul(x, y)` passes", "Joining and padding");
});

Deno.test("attention(q, k, v) enters the files that ARCHITECTURE.md names", async () => {
  const files = await filesOf("attention(x, y, y)", "src/tensor/attention/");
  assert(files.includes("src/tensor/attention/attention.ts"), files.join("\n"));
  await assertNamed(files, "`attention(q, k, v)` passes", "Every kernel has two forms");
});
