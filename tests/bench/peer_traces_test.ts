// `replay_traces.py` with replaced libraries, and the comparison of its results.

import { assert, assertEquals } from "@std/assert";
import {
  compareTraces,
  PEER_POLICIES,
  readPeerReplay,
  writeTraces,
} from "../../bench/report/peer_traces.ts";
import { BUILT_IN_TRACES } from "../../bench/traces/built_in_traces.ts";
import { formatTrace, type MemoryTrace } from "../../src/lab/memory/mod.ts";
import { findProgram } from "../../src/ffi/build/programs.ts";
import { TemporaryDirectory } from "../support/temporary_file.ts";

const SCRIPT = new URL("../../bench/peers/replay_traces.py", import.meta.url).pathname;
const PYTHON = findProgram("python3", (name) => Deno.env.get(name));
const MIB = 2 ** 20;

/** A pool that holds the live bytes only, in multiples of 512 bytes, up to 1 MiB. */
const CUPY = `
__version__ = "0.1"
class Stream:
    current = None
    def __init__(self, non_blocking): assert non_blocking
    def __enter__(self): Stream.current = self
    def __exit__(self, *error): Stream.current = None
class OutOfMemoryError(Exception): pass
class Block:
    def __init__(self, pool, size): self.pool, self.size = pool, size
    def __del__(self): self.pool.total -= self.size
class MemoryPool:
    def __init__(self): self.total = 0
    def malloc(self, size):
        assert Stream.current is not None
        rounded = -(-size // 512) * 512
        if self.total + rounded > 2**20: raise OutOfMemoryError()
        self.total += rounded
        return Block(self, rounded)
    def total_bytes(self): return self.total
class Device:
    mem_info = (2**20, 2**30)
class cuda:
    Device, MemoryPool, Stream = Device, MemoryPool, Stream
    class memory: OutOfMemoryError = OutOfMemoryError
    @staticmethod
    def is_available(): return True
`;

/**
 * The same for PyTorch: a block that another stream used stays until the device synchronizes. The
 * version shows the settings.
 */
const TORCH = `
import os
__version__ = os.environ.get("PYTORCH_CUDA_ALLOC_CONF", "default")
uint8 = "uint8"
total, waiting = 0, 0
def device(kind, index): return kind
class Tensor:
    def __init__(self, size): self.size, self.used = size, False
    def record_stream(self, stream): self.used = True
    def __del__(self):
        global total, waiting
        if self.used: waiting += self.size
        else: total -= self.size
def empty(size, dtype, device):
    global total
    assert cuda.inside
    total += size
    return Tensor(size)
class cuda:
    inside = False
    class OutOfMemoryError(Exception): pass
    class Stream:
        def __init__(self, device): pass
    class stream:
        def __init__(self, stream): pass
        def __enter__(self): cuda.inside = True
        def __exit__(self, *error): cuda.inside = False
    @staticmethod
    def is_available(): return True
    @staticmethod
    def current_device(): return 0
    @staticmethod
    def mem_get_info(): return (2**36, 2**37)
    @staticmethod
    def synchronize():
        global total, waiting
        total, waiting = total - waiting, 0
    @staticmethod
    def empty_cache(): pass
    @staticmethod
    def memory_reserved(device): return total
`;

/** Two streams, a refusal for the small pool, an alignment, an empty block and a use. */
const TRACE: MemoryTrace = {
  name: "own",
  description: "All kinds of events.",
  events: [
    { kind: "allocate", block: 0, bytes: 1000, stream: 0 },
    { kind: "allocate", block: 1, bytes: 0, stream: 1 },
    { kind: "use", block: 0, stream: 1 },
    { kind: "free", block: 0 },
    { kind: "allocate", block: 2, bytes: 4096, stream: 1, alignment: 8192 },
    { kind: "point", name: "a point" },
    { kind: "allocate", block: 3, bytes: 2 * MIB, stream: 1 },
    { kind: "synchronize", stream: 0 },
    { kind: "free", block: 3 },
    { kind: "free", block: 2 },
    { kind: "dispose", stream: 1 },
  ],
};

async function runScript(
  libraries: Readonly<Record<string, string>>,
  policy: string,
  texts: Readonly<Record<string, string>>,
): Promise<{ code: number; stdout: string; stderr: string }> {
  using folder = new TemporaryDirectory();
  const write = ([name, text]: [string, string]) =>
    folder.file(new TextEncoder().encode(text), name);
  Object.entries(libraries).forEach(([name, source]) => write([`${name}.py`, source]));
  const paths = Object.entries(texts).map(([name, text]) => write([`${name}.trace`, text]));
  // Without site packages the script finds the given libraries only.
  const { code, stdout, stderr } = await new Deno.Command(PYTHON!, {
    args: ["-S", SCRIPT, policy, ...paths],
    env: { PYTHONPATH: folder.path, PYTHONDONTWRITEBYTECODE: "1" },
  }).output();
  const decoder = new TextDecoder();
  return { code, stdout: decoder.decode(stdout), stderr: decoder.decode(stderr) };
}

const withPython = { ignore: PYTHON === undefined };

Deno.test("replay_traces.py replays a trace through a CuPy pool", withPython, async () => {
  const { stdout } = await runScript({ cupy: CUPY }, "cupy", { own: formatTrace(TRACE) });
  assertEquals(readPeerReplay(stdout), {
    policy: "cupy",
    version: "0.1",
    capacityBytes: MIB,
    // The aligned block takes its alignment in addition; the largest block is refused.
    traces: [{ trace: "own", peakReserved: 4096 + 8192 - 512, outOfMemory: 1 }],
  });
});

Deno.test(
  "replay_traces.py synchronizes streams of PyTorch and sets its kind of segments",
  withPython,
  async () => {
    const expected = { default: "pytorch", "expandable_segments:True": "pytorch-expandable" };
    for (const [version, policy] of Object.entries(expected)) {
      const { stdout } = await runScript({ torch: TORCH }, policy, {
        own: formatTrace(TRACE),
        again: formatTrace(TRACE),
      });
      const peak = 4096 + 8192 - 512 + 2 * MIB;
      assertEquals(readPeerReplay(stdout), {
        policy,
        version,
        capacityBytes: 2 ** 36,
        traces: [
          { trace: "own", peakReserved: peak, outOfMemory: 0 },
          { trace: "again", peakReserved: peak, outOfMemory: 0 },
        ],
      });
    }
  },
);

Deno.test(
  "replay_traces.py names missing modules and refuses a truncated trace",
  withPython,
  async () => {
    for (const policy of PEER_POLICIES) {
      const replay = readPeerReplay((await runScript({}, policy, {})).stdout);
      assert("skipped" in replay && replay.skipped.startsWith("No module named"));
      assertEquals(compareTraces(replay), []);
    }
    const lines = formatTrace(TRACE).split("\n");
    const cut = [...lines.slice(0, 5), ...lines.slice(6)].join("\n");
    const { code, stderr } = await runScript({ cupy: CUPY }, "cupy", { own: cut });
    assertEquals(code, 1);
    assert(/Cannot replay .*own.trace as it is cut short/.test(stderr), stderr);
  },
);

Deno.test("writeTraces() writes every built-in trace", async () => {
  using folder = new TemporaryDirectory();
  const paths = await writeTraces(folder.path);
  assertEquals(paths.length, BUILT_IN_TRACES.length);
});

Deno.test("compareTraces() requires the peak and refusals of the model", () => {
  const replay = (peakReserved: number, outOfMemory: number) => ({
    policy: "cupy",
    version: "1",
    capacityBytes: 80 * 2 ** 30,
    traces: [{ trace: "load", peakReserved, outOfMemory }],
  });
  const { model } = compareTraces(replay(1, 0))[0]!;
  assert(model > 13e9);
  assertEquals(compareTraces(replay(model, 0))[0]!.same, true);
  assertEquals(compareTraces(replay(model, 1))[0]!.same, false);
  assertEquals(compareTraces(replay(model + 512, 0))[0]!.same, false);
});
