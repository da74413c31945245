import { assert, assertEquals, assertThrows } from "@std/assert";
import { KernelProfile } from "../../src/launch/kernel_profile.ts";
import { resourceTally } from "../../src/ffi/native_device.ts";
import { device } from "../support/device.ts";

const SPIN = "spin_float32(float* out, unsigned long long nanoseconds, float value)";
const ONE_THREAD = { grid: 1, block: 1 };

Deno.test("a profile counts and times the launches between its making and its disposal", async () => {
  using out = device.allocate("float32", 100, { fill: 0 });
  const spin = device.kernels.load(SPIN);
  spin.launch(ONE_THREAD, out, 0, 1);
  const profile = new KernelProfile(device);
  spin.launch(ONE_THREAD, out, 20e6, 1);
  spin.launch(ONE_THREAD, out, 40e6, 1);
  device.kernels.scale(out, 2, out);
  const [first, second, ...more] = await profile.timings();
  profile[Symbol.dispose]();
  profile[Symbol.dispose]();
  spin.launch(ONE_THREAD, out, 0, 1);
  assertEquals(more, []);
  assertEquals([first!.kernel, first!.launches, first!.captured], ["spin_float32", 2, 0]);
  assertEquals([second!.kernel, second!.launches], ["scale_float32", 1]);
  assert(first!.least >= 20 && first!.most >= 40 && first!.total >= 60, JSON.stringify(first));
  assertEquals(first!.mean, first!.total / 2);
  // Memory that is passed twice, as scale()'s input and output here, moves once each launch.
  assertEquals([first!.bytes, second!.bytes], [800, 400]);
});

Deno.test("a profile goes on after it was asked, and its events are used again", async () => {
  using out = device.allocate("float32", 100, { fill: 0 });
  await device.done();
  const before = resourceTally(device.context.library);
  {
    using profile = new KernelProfile(device);
    for (let round = 0; round < 3; round++) {
      for (let i = 0; i < 300; i++) device.kernels.scale(out, 2, out);
      await device.done();
    }
    const [timing] = await profile.timings();
    assertEquals([timing!.launches, timing!.captured], [900, 0]);
    const { events } = resourceTally(device.context.library);
    // Two of each launch if none were; how many wait at a time is for the device's workers to say.
    assert(events - before.events < 1200, `${events} events for 900 launches`);
  }
  assertEquals(resourceTally(device.context.library).events, before.events);
});

Deno.test("launches that are captured are counted and not timed", async () => {
  using out = device.allocate("float32", 100, { fill: 1 });
  using profile = new KernelProfile(device);
  using graph = device.stream.capture(() => device.kernels.scale(out, 2, out));
  const [timing] = await profile.timings();
  assertEquals(timing, {
    kernel: "scale_float32",
    launches: 1,
    captured: 1,
    total: 0,
    mean: 0,
    least: 0,
    most: 0,
    bytes: 0,
  });
  assertEquals(graph.nodeCount, 1);
});

Deno.test("two profiles of a device know of the same launches; none knows of refused ones", async () => {
  using out = device.allocate("float32", 100, { fill: 1 });
  using one = new KernelProfile(device);
  device.kernels.scale(out, 2, out);
  using two = new KernelProfile(device);
  device.kernels.scale(out, 2, out);
  const scale = device.kernels.load(SPIN);
  assertThrows(() => scale.launch(ONE_THREAD, out, -1, 1), RangeError);
  const launches = async (profile: KernelProfile) =>
    (await profile.timings()).map(({ kernel, launches }) => [kernel, launches]);
  assertEquals(await launches(one), [["scale_float32", 2]]);
  assertEquals(await launches(two), [["scale_float32", 1]]);
});
