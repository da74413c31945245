import { assert, assertEquals, assertThrows } from "@std/assert";
import { copyToDeviceSync, copyToHostSync } from "../../src/ffi/native_memory.ts";
import { device } from "../support/device.ts";
import { headerFunctions } from "../support/header.ts";
import { ABI_WEIGHTS, abiArguments } from "./abi_arguments.ts";
import { ABI, runCampaignProcess } from "./campaign_process.ts";

const SEEDS = [20_250_102, 20_350_102, 20_450_102];
const MILLISECONDS = 1_000;

Deno.test("The ABI campaign covers every function of the header", () => {
  const functions = headerFunctions().map(({ name }) => name);
  const called = [...abiArguments(["empty()"]).keys()];
  assertEquals(functions.filter((name) => !called.includes(name)), []);
  assertEquals(called.filter((name) => !functions.includes(name)), []);
  assertEquals(Object.keys(ABI_WEIGHTS).filter((name) => !functions.includes(name)), []);
});

Deno.test("The C ABI survives random scalars, handles and addresses", async () => {
  const functions = headerFunctions().map(({ name }) => name);
  // A process ends early when faults have made all of its devices unusable.
  for (const seed of SEEDS) {
    const { calls, sequences } = await runCampaignProcess({
      ...ABI,
      seed,
      milliseconds: MILLISECONDS,
    });
    assert(sequences > 3, `only ${sequences} sequences were played`);
    assertEquals(functions.filter((name) => calls[name] === undefined), []);
    const all = Object.values(calls);
    const returned = all.filter((count) => count.returned > 0).length;
    assert(returned > 0.8 * all.length, `only ${returned} of ${all.length} functions succeeded`);
  }
});

Deno.test("Copies never exceed the length of their JavaScript memory", () => {
  const { library, ordinal } = device.context;
  using stream = device.createStream();
  using buffer = device.allocate("uint8", 4096, { fill: 7, stream });
  const { address } = buffer;
  const { id } = stream;
  const short = new Uint8Array(64).fill(1);
  const refused: readonly [() => void, string][] = [
    [() => copyToDeviceSync(library, ordinal, id, address, short, 65), "65 bytes as source"],
    [() => copyToHostSync(library, ordinal, id, short, address, 65), "65 bytes as destination"],
    [() => copyToDeviceSync(library, ordinal, id, address, short, NaN), "bytes must be an integer"],
    [() => copyToHostSync(library, ordinal, id, short, address, -1), "bytes must be an integer"],
    [() => copyToHostSync(library, ordinal, id, short, address, 2 ** 53), "bytes must be"],
  ];
  for (const [copy, message] of refused) assertThrows(copy, RangeError, message);
  assertEquals(new Set(short), new Set([1]));
  assertEquals(new Set(buffer.toArraySync({ stream })), new Set([7]));
});

Deno.test("Copies ignore an overridden length of an array", () => {
  using stream = device.createStream();
  using buffer = device.allocate("float32", 1000, { fill: 3, stream });
  const memory = new Float32Array(1000);
  const lying = memory.subarray(0, 4);
  Object.defineProperty(lying, "byteLength", { value: 8000 });
  buffer.copyToSync(lying, { stream });
  assertEquals([...memory.subarray(0, 6)], [3, 3, 3, 3, 0, 0]);
});
