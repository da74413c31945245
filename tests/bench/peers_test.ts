// The same work in other libraries: the scripts of bench/peers/.

import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import type { AreaBench } from "../../bench/report/figure.ts";
import { PEER_NAMES, Peers } from "../../bench/report/peer_process.ts";
import { operandValues, randomOperand, randomValues } from "../../bench/support/random_values.ts";
import { findProgram } from "../../src/ffi/build/programs.ts";
import { device } from "../support/device.ts";
import { python } from "../support/python.ts";
import { TemporaryDirectory } from "../support/temporary_file.ts";

const interpreter = findProgram("python3", (name) => Deno.env.get(name));
const folder = new URL("../../bench/peers/", import.meta.url).pathname;

function bench(title: string, peer: AreaBench["peer"]): AreaBench {
  return {
    ...{ area: "tensor", group: "g", title, baseline: true, bytes: 8, clock: "device", calls: 1 },
    ...{ samples: [], host: [], ...(peer === undefined ? {} : { peer }) },
  };
}

Deno.test("operandValues() repeats random numbers, from another one for each operand", () => {
  const values = randomValues(true);
  const [least, most] = [Math.min(...values), Math.max(...values)];
  assert(-1 <= least && least < -0.99 && 0.99 < most && most < 1, `${least} ${most}`);
  const { length } = values;
  const operand = operandValues(values, 2 * length + 3, 1);
  assertEquals(operand.length, 2 * length + 3);
  for (const at of [0, 1, length - 7919, length, 2 * length + 2]) {
    assertEquals(operand[at], values[(at + 7919) % length]);
  }
});

Deno.test("randomOperand() repeats the random numbers on the device", async () => {
  const [rows, columns] = [101, 103];
  using operand = randomOperand(device, [rows, columns], 3, "int8", true);
  assertEquals(operand.shape, [rows, columns]);
  const expected = operandValues(randomValues(true), rows * columns, 3);
  assertEquals([...await operand.toArray()], [...expected].map((it) => Math.trunc(it * 127) + 0));
});

Deno.test("operand() of the peers makes the same random numbers as randomOperand()", async () => {
  using directory = new TemporaryDirectory();
  const values = randomValues(true);
  const file = directory.file(new Uint8Array(values.buffer));
  const program = `
import sys
sys.path.insert(0, sys.argv[1])
sys.dont_write_bytecode = True
from numpy_like import NumPy
library = NumPy(sys.argv[2])
print(library.operand([101, 103], 3, "float32").reshape(-1)[[0, 1, 9999, 10402]].tolist())
print(library.operand([3, 5], 2, "int8").tolist())
`;
  const output = await python("NumPy", program, folder, file);
  if (output === undefined) return;
  const [floats, integers] = output.trim().split("\n").map((line) => JSON.parse(line));
  const operand = operandValues(values, 101 * 103, 3);
  for (const [index, at] of [0, 1, 9999, 10402].entries()) {
    assertAlmostEquals(floats[index], operand[at]!, 1e-7);
  }
  const expected = [...operandValues(values, 15, 2)].map((value) => Math.trunc(value * 127));
  assertEquals(integers.flat(), expected.map((value) => value + 0));
});

Deno.test("Peers.load() gives the libraries, or the reasons why they are not there", async () => {
  if (interpreter === undefined) return; // no Python on this machine, which the project does not need
  // No site packages: none of the libraries is found.
  using directory = new TemporaryDirectory();
  const bare = directory.file(
    new TextEncoder().encode(`#!/bin/sh\nexec ${interpreter} -E -s -S "$@"\n`),
    "python3",
  );
  Deno.chmodSync(bare, 0o755);
  await using peers = new Peers(bare, true, {});
  const { libraries, skipped } = await peers.load();
  assertEquals(libraries, []);
  assertEquals(skipped.map((reason) => reason.split(":")[0]!), [...PEER_NAMES]);
  const work = bench("add", { kind: "tensor", title: "add", power: 4, dtype: "float32" });
  assertEquals(await peers.run([work], 10_000), { benches: [], skipped: [] });
});

Deno.test("Peers.run() leaves half of its time to the libraries after a slow one", async () => {
  const answer = { clock: "device", samples: [{ begin: 0, end: 1, nanoseconds: 9 }], host: [] };
  // Takes the place of Python: PyTorch loads, and never does any work.
  const program = `#!/bin/sh
echo '{"version": "1"}'
if [ "$3" = PyTorch ]; then exec sleep 600; fi
while read -r work; do echo '${JSON.stringify(answer)}'; done
`;
  using directory = new TemporaryDirectory();
  const slow = directory.file(new TextEncoder().encode(program), "python3");
  Deno.chmodSync(slow, 0o755);
  await using peers = new Peers(slow, true, {}, ["PyTorch", "NumPy", "CuPy"]);
  const { libraries } = await peers.load();
  const work = bench("add", { kind: "tensor" });
  const { benches, skipped } = await peers.run([work], 600);
  assertEquals(benches.map(({ title }) => title), ["NumPy", "CuPy"]);
  assertEquals(skipped, ["PyTorch: g: add: it ran out of time"]);
  // It has ended, and is still one of those that were there.
  assertEquals((await peers.load()).libraries, libraries);
  assertEquals(libraries.length, 3);
});

Deno.test("samples_of() takes few samples of work that is much slower than ours", async () => {
  const program = `
import sys
sys.path.insert(0, sys.argv[1])
sys.dont_write_bytecode = True
import time
from timing import samples_of
class Library:
    on_gpu = False
    def synchronize(self):
        pass
body = lambda: time.sleep(0.004)
for ours in [3e6, 1e6]:
    print(len(samples_of(Library(), body, "total", 1, ours, False)["samples"]))
`;
  const output = await python("Python", program, folder);
  if (output === undefined) return;
  const [beside, far] = output.trim().split("\n").map(Number);
  assertEquals([beside! > 3, far], [true, 3]);
});

Deno.test("PyTorch multiplies numbers of 8 bits in floating point, and repeats the numbers of tensors", async () => {
  using directory = new TemporaryDirectory();
  const file = directory.file(new Uint8Array(randomValues(true).buffer));
  const program = `
import sys
sys.path.insert(0, sys.argv[1])
sys.dont_write_bytecode = True
import torch
from pytorch import PyTorch
library = PyTorch(sys.argv[2])
if library.on_gpu:
    sys.exit()  # a GPU before compute capability 8.9 has no such products
work = {"m": 16, "n": 32, "k": 48, "dtype": "float8_e4m3", "transposed": True}
product = library.product(work)()
x, y = (library.operand(shape, i, "float32") for i, shape in enumerate([[16, 48], [32, 48]]))
print(product.dtype, (product.float() - x @ y.t()).abs().max().item() < 0.5)
tensor = lambda title: library.tensor({"power": 17, "dtype": "float32", "title": title})()
total = tensor("new add")
i = torch.arange(2**17, dtype=torch.float64) % 2**16
expected = 2 * (torch.sin(i * 1.7) + torch.cos(i * 0.3))
print((total - expected).abs().max().item() < 1e-6)
`;
  const output = await python("PyTorch", program, folder, file);
  if (output === undefined || output === "") return;
  assertEquals(output.trim().split("\n"), ["torch.bfloat16 True", "True"]);
});

Deno.test("Peers.run() does the work that a library has, and leaves out a library that ends", async () => {
  if (await python("NumPy", "import numpy") === undefined) return;
  await using peers = new Peers(interpreter!, true, {}, ["NumPy"]);
  const tensor = (title: string) =>
    bench(title, { kind: "tensor", title, power: 10, dtype: "float32" });
  const product = { kind: "product", m: 3, n: 4, k: 5, dtype: "float64", transposed: true };
  const { benches, skipped } = await peers.run([
    bench("copy", undefined),
    tensor("add"),
    tensor("tea"),
    bench("matmul()", { ...product, different: { arithmetic: "float64" } }),
    bench("broken", { ...product, m: "three" }),
  ], 60_000);
  const found = benches.map(({ title, beside, samples, baseline, arithmetic }) =>
    [title, beside, samples.length, baseline, arithmetic] as const
  );
  assertEquals(found, [
    ["NumPy", "add", 1, false, undefined],
    ["NumPy", "matmul()", 1, false, "float64"],
  ]);
  assert(benches.every(({ samples }) => samples[0]!.nanoseconds > 0));
  assertEquals(skipped.length, 1);
  assert(skipped[0]!.startsWith("g: broken: NumPy: product: TypeError"), skipped[0]);
});
