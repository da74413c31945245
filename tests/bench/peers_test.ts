import { assert, assertEquals, assertThrows } from "@std/assert";
import { figureOf } from "../../bench/report/figure.ts";
import {
  comparePeers,
  mergePeers,
  readPeerResults,
  SHARED_WORK,
} from "../../bench/report/peers.ts";

/** The scripts, and the libraries that each knows. */
const SCRIPTS: Readonly<Record<string, readonly string[]>> = {
  "peers.py": ["PyTorch", "CuPy", "RMM"],
  "launches.py": ["PyTorch", "Triton", "numba", "CuPy", "cuda.core"],
  "tensor.py": ["PyTorch", "compiled PyTorch", "CuPy"],
};

const pathOf = (script: string) => new URL(`../../bench/peers/${script}`, import.meta.url).pathname;

/** Values of the placeholders in names. */
const LOOPS: Readonly<Record<string, readonly string[]>> = {
  "{name}": ["float64", "float16"],
  "{pair}": ["256 B", "4 KiB", "64 KiB", "1 MiB", "4 MiB"],
  "{largest}": ["1 MiB", "8 MiB"],
  "{power}": ["16", "18", "20", "22", "24", "26"],
};

/** The names of work in a script, with the values of its loops. */
function namesInScript(script: string): string[] {
  const text = Deno.readTextFileSync(pathOf(script));
  const found = [...text.matchAll(/\b(?:run|enqueue)\(\s*f?"([^"]+)"/g)].map((match) => match[1]!);
  return found.flatMap((name) => {
    const loop = /\{\w+\}/.exec(name)?.[0];
    return loop === undefined ? [name] : LOOPS[loop]!.map((value) => name.replace(loop, value));
  });
}

Deno.test("SHARED_WORK names the work of the peer scripts", () => {
  const names = [...new Set(Object.keys(SCRIPTS).flatMap(namesInScript))].sort();
  assertEquals(names, SHARED_WORK.map(({ name }) => name).sort());
});

/** Output of a script without any library; `undefined` without Python. */
async function runWithoutLibraries(script: string): Promise<string | undefined> {
  const python = new Deno.Command("python3", {
    // No site packages and no variables: the script finds its own modules only.
    args: ["-B", "-E", "-s", "-S", pathOf(script)],
    stderr: "inherit",
  });
  try {
    const { code, stdout } = await python.output();
    assertEquals(code, 0);
    return new TextDecoder().decode(stdout);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

Deno.test("readPeerResults() reads the missing libraries that the scripts name", async () => {
  for (const [script, libraries] of Object.entries(SCRIPTS)) {
    const json = await runWithoutLibraries(script);
    if (json === undefined) return; // no Python on this machine, which the project does not need
    const { peers, skipped } = readPeerResults(json);
    assertEquals(peers, []);
    assertEquals(skipped.map((reason) => reason.split(":")[0]!), [...libraries]);
  }
});

Deno.test("readPeerResults() refuses unknown work, and mergePeers() joins a library's results", () => {
  const results = (nanoseconds: Record<string, number>) =>
    readPeerResults(
      JSON.stringify({ peers: [{ name: "P", version: "1", nanoseconds }], skipped: ["R"] }),
    );
  assertThrows(() => results({ tea: 5 }), Error, 'Cannot compare P\'s "tea"');
  assertThrows(() => results({ copy: 0 }), Error, "0 ns");
  assertEquals(mergePeers([results({ copy: 5 }), results({ launch: 6 })]), {
    peers: [{ name: "P", version: "1", nanoseconds: { copy: 5, launch: 6 }, fastest: {} }],
    skipped: ["R"],
  });
});

Deno.test("comparePeers() pairs figures with peers that did the same work", () => {
  const kernel = { area: "kernel", group: "kernels on buffers of 1 GiB", bytes: null };
  const figures = [
    figureOf({ ...kernel, title: "copy", baseline: true }, [10]),
    figureOf({ ...kernel, title: "add float32", baseline: false }, [20]),
    figureOf({ ...kernel, title: "sum float32", baseline: false }, [20]),
  ];
  const peers = [
    { name: "Slow", version: "1", nanoseconds: { "copy": 15, "add float32": 50, "launch": 1 } },
    { name: "Fast", version: "2", nanoseconds: { "add float32": 10 } },
  ];
  assertEquals(comparePeers(figures, peers), [
    { name: "copy", nanoseconds: 10, speedup: { Slow: 1.5 } },
    { name: "add float32", nanoseconds: 20, speedup: { Slow: 2.5, Fast: 0.5 } },
  ]);
  assert(comparePeers(figures, []).length === 0);
});
