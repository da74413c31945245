import { assert, assertEquals, assertThrows } from "@std/assert";
import { figureOf } from "../../bench/report/figure.ts";
import { comparePeers, readPeerResults, SHARED_WORK } from "../../bench/report/peers.ts";

const SCRIPT = new URL("../../bench/peers/peers.py", import.meta.url);

/** What the script's loops put into names. */
const LOOPS: Readonly<Record<string, readonly string[]>> = {
  "{name}": ["float64", "float16"],
  "{pair}": ["256 B", "4 KiB", "64 KiB", "1 MiB", "4 MiB"],
  "{largest}": ["1 MiB", "8 MiB"],
};

/** The names of work in the script; what its loops make of one is spelt out. */
function namesInScript(): string[] {
  const text = Deno.readTextFileSync(SCRIPT);
  const found = [...text.matchAll(/\b(?:run|enqueue)\(\s*f?"([^"]+)"/g)].map((match) => match[1]!);
  return found.flatMap((name) => {
    const loop = /\{\w+\}/.exec(name)?.[0];
    return loop === undefined ? [name] : LOOPS[loop]!.map((value) => name.replace(loop, value));
  });
}

Deno.test("all work of the peers is work that a figure is about, and the other way round", () => {
  const names = [...new Set(namesInScript())].sort();
  assertEquals(names, SHARED_WORK.map(({ name }) => name).sort());
});

Deno.test("the script says which libraries are missing where none can be imported", async () => {
  const python = new Deno.Command("python3", {
    // Without site packages: nothing that is installed is found.
    args: ["-I", "-S", SCRIPT.pathname],
    stderr: "inherit",
  });
  const { code, stdout } = await python.output().catch((error) => {
    if (error instanceof Deno.errors.NotFound) return { code: undefined, stdout: new Uint8Array() };
    throw error;
  });
  if (code === undefined) return; // no Python on this machine, which the project does not need
  assertEquals(code, 0);
  const { peers, skipped } = readPeerResults(new TextDecoder().decode(stdout));
  assertEquals(peers, []);
  assertEquals(skipped.map((reason) => reason.split(":")[0]), ["PyTorch", "CuPy", "RMM"]);
});

Deno.test("readPeerResults() refuses work it does not know and times that are none", () => {
  const results = (nanoseconds: Record<string, number>) =>
    JSON.stringify({ peers: [{ name: "P", version: "1", nanoseconds }], skipped: [] });
  assertEquals(readPeerResults(results({ copy: 5 })).peers[0]!.nanoseconds, { copy: 5 });
  assertThrows(() => readPeerResults(results({ tea: 5 })), Error, 'Cannot compare P\'s "tea"');
  assertThrows(() => readPeerResults(results({ copy: 0 })), Error, "0 ns");
});

Deno.test("comparePeers() sets the figures beside the peers that did the same", () => {
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
