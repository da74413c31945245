import { assertEquals } from "@std/assert";
import { device } from "../support/device.ts";

const PROGRAM = new URL("./worker_program.ts", import.meta.url);
const selector = device.label;

/** A worker and its messages in order. */
class RunningWorker {
  readonly worker = new Worker(PROGRAM, { type: "module" });
  readonly #messages: unknown[] = [];
  #wake: (() => void) | undefined;
  #failure: string | undefined;

  constructor(rounds: number, seed: number) {
    this.worker.onmessage = ({ data }) => this.#receive(data);
    this.worker.onerror = (event) => {
      event.preventDefault();
      this.#failure = event.message;
      this.#wake?.();
    };
    this.worker.postMessage({ selector, rounds, seed });
  }

  #receive(data: unknown): void {
    this.#messages.push(data);
    this.#wake?.();
  }

  async next(): Promise<unknown> {
    while (this.#messages.length === 0) {
      if (this.#failure !== undefined) throw new Error(this.#failure);
      await new Promise<void>((resolve) => this.#wake = resolve);
    }
    return this.#messages.shift();
  }
}

async function stillWorks(): Promise<void> {
  using x = device.upload(Int32Array.from({ length: 1000 }, (_, i) => i));
  using sum = device.allocate("int64", 1);
  device.kernels.sum(x, sum);
  assertEquals((await sum.toArray())[0], 499_500n);
}

Deno.test("`openDevice()` works in several workers at once", async () => {
  const workers = [1, 2, 3, 4].map((seed) => new RunningWorker(25, seed));
  for (const worker of workers) assertEquals(await worker.next(), "running");
  await stillWorks();
  assertEquals(await Promise.all(workers.map((worker) => worker.next())), [25, 25, 25, 25]);
  for (const { worker } of workers) worker.terminate();
  await stillWorks();
});

Deno.test("`Worker.terminate()` during work does not affect other workers", async () => {
  for (let round = 0; round < 8; round++) {
    const victims = [1, 2, 3].map((seed) => new RunningWorker(1_000_000, seed + round));
    for (const victim of victims) assertEquals(await victim.next(), "running");
    // Different delays terminate the worker in different calls.
    await new Promise((resolve) => setTimeout(resolve, 3 + round * 3.7));
    for (const { worker } of victims) worker.terminate();
    await stillWorks();
  }
});
