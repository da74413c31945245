import { assert, assertEquals, assertRejects } from "@std/assert";
import { timeKernel } from "../../src/launch/kernel_timing.ts";
import { device } from "../support/device.ts";

const SPIN = "spin_float32(float* out, unsigned long long nanoseconds, float value)";
const ADD = "axpy_float32(float a, const float* x, float* y, unsigned long long n)";

Deno.test("timeKernel() launches warm-up and repeats, and times the repeats", async () => {
  using x = device.upload(new Float32Array([1]));
  using y = device.allocate("float32", 1, { fill: 0 });
  const add = device.kernels.load(ADD);
  const config = { grid: 1, block: 32 };
  for (const [warmUp, repeats] of [[0, 1], [2, 3], [3, 65], [1, 128]] as const) {
    y.copyFrom(new Float32Array([0]));
    const { times } = await timeKernel(add, config, [1, x, y, 1], { warmUp, repeats });
    assertEquals(times.length, repeats);
    assertEquals((await y.toArray())[0], warmUp + repeats);
  }
  assertEquals((await timeKernel(add, config, [1, x, y, 1])).times.length, 20);
});

Deno.test("timeKernel() times the kernel without the overwriting of the cache", async () => {
  using x = device.allocate("float32", 1);
  const spin = device.kernels.load(SPIN);
  const config = { grid: 1, block: 1 };
  for (const flushCache of [true, false]) {
    const options = { repeats: 3, warmUp: 1, flushCache };
    const { median } = await timeKernel(spin, config, [x, 20e6, 1], options);
    assert(median >= 20 && median < 200, `${median} ms`);
  }
});

Deno.test("timeKernel() refuses wrong options by name, and launches nothing", async () => {
  using x = device.upload(new Float32Array([1]));
  using y = device.allocate("float32", 1, { fill: 0 });
  const add = device.kernels.load(ADD);
  const refused = [
    [{ warmUp: -1 }, RangeError, "options.warmUp must be an integer in 0..1000000: it is -1"],
    [{ repeats: 0 }, RangeError, "options.repeats must be an integer in 1..1000000: it is 0"],
    [{ repeats: 1.5 }, RangeError, "options.repeats"],
    [{ repeats: 1e7 }, RangeError, "options.repeats"],
    [{ warmUp: "3" }, TypeError, 'options.warmUp must be an integer in 0..1000000: it is "3"'],
  ] as const;
  for (const [options, ErrorClass, message] of refused) {
    const time = () => timeKernel(add, { grid: 1, block: 1 }, [1, x, y, 1], options as never);
    await assertRejects(time, ErrorClass, message);
  }
  const unlisted = () => timeKernel(add, { grid: 1, block: 1 }, 7 as never);
  await assertRejects(unlisted, TypeError, "its arguments must be an array: they are 7");
  assertEquals((await y.toArray())[0], 0);
});
