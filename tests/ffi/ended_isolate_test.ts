import { assertEquals, assertNotEquals } from "@std/assert";
import { resourceTally } from "../../src/ffi/native_device.ts";
import { device } from "../support/device.ts";

const { library } = device.context;
const PROGRAM = new URL("./ended_isolate_worker.ts", import.meta.url);

async function startWorker(): Promise<Worker> {
  const worker = new Worker(PROGRAM, { type: "module" });
  await new Promise<void>((resolve, reject) => {
    worker.onmessage = () => resolve();
    worker.onerror = (event) => {
      event.preventDefault();
      reject(new Error(event.message));
    };
    worker.postMessage({ selector: device.label });
  });
  return worker;
}

Deno.test("`Worker.terminate()` gives back everything of the isolate and nothing of others", async () => {
  using own = device.upload(Float32Array.of(1, 2, 3));
  await own.toArray();
  const before = resourceTally(library);
  // A GPU's driver keeps memory of the streams and modules of a first round, and other processes use it.
  const free = () => device.info.kind === "host" ? device.memoryInfo().free : "unknown";
  const freeBefore = free();
  for (let round = 0; round < 2; round++) {
    const workers = await Promise.all([startWorker(), startWorker()]);
    const during = resourceTally(library);
    for (const kind of Object.keys(before) as (keyof typeof before)[]) {
      if (kind === "allocations" || kind === "allocatedBytes") continue; // memory is mapped
      if (kind === "files" || kind === "programs") continue;
      assertNotEquals(during[kind], before[kind], kind);
    }
    for (const worker of workers) worker.terminate();
    const deadline = performance.now() + 10_000;
    const isBack = () => JSON.stringify(resourceTally(library)) === JSON.stringify(before);
    while (!isBack() && performance.now() < deadline) {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    assertEquals(resourceTally(library), before);
    assertEquals(free(), freeBefore);
  }
  assertEquals([...await own.toArray()], [1, 2, 3]);
  device.kernels.scale(own, 2, own);
  assertEquals([...await own.toArray()], [2, 4, 6]);
});
