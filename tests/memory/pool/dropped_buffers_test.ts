/** Buffers that a program drops without freeing them. */

import { assertEquals } from "@std/assert";
import { device } from "../../support/device.ts";
import { runProgram } from "../../support/subprocess.ts";

const module = (path: string) => JSON.stringify(new URL(path, import.meta.url).href);

/** Runs a program with `gc()`, `turn()`, `device` and a pool of 64 MiB, and returns its output. */
async function outputOf(body: string): Promise<string> {
  const program = `
    import { openDevice } from "@gridstride/cuda";
    const MIB = 2 ** 20;
    const device = openDevice(${JSON.stringify(device.label)});
    const pool = device.createPool({ maxPoolSize: 64 * MIB });
    const turn = () => new Promise((resolve) => setTimeout(resolve, 0));
    const collect = async () => {
      for (let time = 0; time < 5; time++) {
        gc();
        await turn();
      }
    };
    ${body}
    Deno.exit(0);`;
  const permissions = ["-A", "--v8-flags=--expose-gc"];
  const { code, stdout, stderr } = await runProgram(program, { permissions });
  assertEquals([code, stderr], [0, ""]);
  return stdout.trim();
}

Deno.test("1000 dropped buffers of 1 MiB fit into a pool of 64 MiB", async () => {
  const output = await outputOf(`
    for (let count = 1; count <= 1000; count++) {
      pool.allocate("uint8", MIB);
      if (count % 32 === 0) {
        gc();
        await turn();
      }
    }
    await collect();
    console.log(pool.checkLeaks().count, pool.checkLeaks().dropped, pool.stats().outOfMemory);`);
  assertEquals(output, "0 1000 0");
});

Deno.test("`allocate()` takes the memory of collected buffers before the collector reports them", async () => {
  const output = await outputOf(`
    for (let count = 0; count < 60; count++) pool.allocate("uint8", MIB);
    await turn();
    gc();
    const all = Array.from({ length: 60 }, () => pool.allocate("uint8", MIB));
    console.log(all.length, pool.checkLeaks().dropped);`);
  assertEquals(output, "60 60");
});

Deno.test("memory of a dropped buffer is not reused before its streams have finished", async () => {
  const output = await outputOf(`
    const { Gate } = await import(${module("../../support/gate.ts")});
    const other = device.createStream();
    const gate = new Gate();
    (() => {
      const x = pool.allocate("float32", 10 * MIB);
      gate.close(other, x);
      const y = pool.allocate("float32", 1);
      device.kernels.fill(y, 1, { stream: other });
      y.free();
    })();
    await collect();
    console.log(pool.checkLeaks().dropped, pool.stats().pending >= 40 * MIB, other.query());
    gate.openWhenBlocked();
    pool.allocate("float32", 10 * MIB);
    console.log(other.query());`);
  assertEquals(output, "1 true false\ntrue");
});

Deno.test("a graph keeps the dropped buffers that it uses, and no longer than itself", async () => {
  const output = await outputOf(`
    const stream = device.createStream();
    const capture = () => {
      const x = pool.allocate("float32", 1024, { stream });
      const pinned = device.allocatePinned("float32", 1024);
      pinned.array.fill(5);
      return stream.capture(() => {
        device.kernels.fill(x, 7, { stream });
        pinned.copyTo(x, { stream, length: 10 });
      });
    };
    let graph = capture();
    await collect();
    console.log(pool.checkLeaks().count);
    const other = pool.allocate("float32", 1024, { stream });
    device.kernels.fill(other, 1, { stream });
    graph.launch(stream);
    console.log((await other.toArray({ stream })).every((value) => value === 1));
    graph[Symbol.dispose]();
    graph = undefined;
    await collect();
    console.log(pool.checkLeaks().count);`);
  assertEquals(output, "1\ntrue\n1");
});

Deno.test("dropped pinned buffers are unpinned, and a buffer freed by address is freed once", async () => {
  const output = await outputOf(`
    const { resourceTally } = await import(${module("../../../src/ffi/native_device.ts")});
    const before = resourceTally(device.context.library).pinnedSlabs;
    (() => {
      const pinned = device.allocatePinned("float32", 1000);
      const x = pool.allocate("float32", 1000);
      pinned.copyTo(x);
      pool.free(x.address);
    })();
    const next = pool.allocate("float32", 1000);
    await collect();
    await new Promise((resolve) => setTimeout(resolve, 50));
    console.log(resourceTally(device.context.library).pinnedSlabs - before);
    console.log(next.disposed, pool.checkLeaks().count, pool.checkLeaks().dropped);`);
  assertEquals(output, "0\nfalse 1 0");
});
