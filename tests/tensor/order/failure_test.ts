// Kernels that do not compile, and launches that fail: what depends on them fails, nothing else.

import { templates } from "../../../src/tensor/kit/expression/kernel_template.ts";
import { device } from "../../support/device.ts";
import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { CompileError, openDevice } from "../../../mod.ts";
import * as T from "../../../src/device/tensor.ts";
import { DeviceWork } from "../../../src/tensor/kit/device_work.ts";
import { storageOf } from "../../../src/tensor/tensor.ts";
import { Kernel } from "../../../src/launch/kernel.ts";

/** Runs `act` with a compiler that fails, for kernels whose name contains a text. */
async function withBrokenCompiler(work: DeviceWork, name: string, act: () => Promise<void>) {
  const { compile } = work;
  work.compile = async function (generated) {
    if (!generated.text.name.includes(name)) return await compile.call(this, generated);
    await Promise.resolve();
    generated.fail(new Error("no room on the disk"));
  };
  try {
    await act();
  } finally {
    work.compile = compile;
  }
}

Deno.test("A kernel that did not compile fails all that depends on it, and nothing else", async () => {
  using own = openDevice(device.label);
  const place = { device: own };
  const work = DeviceWork.of(own.context);
  await withBrokenCompiler(work, "exp", async () => {
    using x = T.tensor([1, 2, 3], place);
    using before = x.add(1);
    using failed = x.exp();
    using view = failed.slice([{ step: -1 }]);
    using chain = failed.multiply(0.5).add(x);
    using overwritten = T.zeros([3], place);
    T.add(failed, 1, { out: overwritten });
    using after = x.multiply(2);
    const read = (it: T.Tensor) => assertRejects(() => it.toArray(), Error, "no room on the disk");
    for (const it of [failed, view, chain, overwritten, chain, failed]) await read(it);
    await assertRejects(() => failed.ready(), Error, "no room on the disk");
    assertThrows(() => failed.buffer, Error, "no room on the disk");
    // Operations after the failure is known fail in the same way.
    await read(failed.add(1));
    assertEquals([...await before.toArray()], [2, 3, 4]);
    assertEquals([...await after.toArray()], [2, 4, 6]);
    // A new content has nothing of the failure.
    T.add(x, 5, { out: overwritten });
    assertEquals([...await overwritten.toArray()], [6, 7, 8]);
  });
});

Deno.test("A kernel that did not compile is compiled again at its next use", async () => {
  using own = openDevice(device.label);
  using x = T.tensor([1, 4], { device: own });
  await withBrokenCompiler(DeviceWork.of(own.context), "sqrt", async () => {
    await assertRejects(() => x.sqrt().toArray(), Error, "no room on the disk");
  });
  assertEquals([...await x.sqrt().toArray()], [1, 2]);
});

Deno.test("A launch that fails after it has waited fails all that depends on it", async () => {
  using own = openDevice(device.label);
  using x = T.tensor([1, 2, 3], { device: own });
  const { launch } = Kernel.prototype;
  Kernel.prototype.launch = function (...args) {
    if (this.name.includes("exp")) throw new Error("no resources");
    return launch.apply(this, args);
  };
  try {
    using chain = x.exp().multiply(0.5).add(x);
    using other = x.multiply(3);
    await assertRejects(() => chain.toArray(), Error, "no resources");
    assertEquals([...await other.toArray()], [3, 6, 9]);
  } finally {
    Kernel.prototype.launch = launch;
  }
  assertEquals((await x.exp().toArray()).map(Math.round), Float32Array.of(3, 7, 20));
});

Deno.test("A kernel that does not compile where the thread is blocked fails its operation alone", async () => {
  using own = openDevice(device.label);
  using x = T.tensor([1, 2], { device: own });
  const work = DeviceWork.of(own.context);
  const broken = work.kernel("broken", () => ({
    name: "broken",
    template: templates.map,
    dtypes: new Set(["float32" as const]),
    parameters: ["float* x"],
    definitions: "",
    body: "  undeclared(x);",
  }));
  assertEquals(broken.isSettled, false);
  using y = T.zeros([2], { device: own });
  const written = [{ storage: storageOf(y), isWhole: true }];
  work.enqueue(broken, [], written, () => {
    throw new Error("it was launched");
  });
  using sum = y.add(x);
  using good = x.add(1);
  own.doneSync();
  assertEquals(broken.isSettled, true);
  assertEquals([...good.buffer.toArraySync()], [2, 3]);
  await assertRejects(() => sum.toArray(), CompileError, "undeclared");
});
