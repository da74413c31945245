import { assert, assertEquals, assertThrows } from "@std/assert";
import { CudaError } from "../../../mod.ts";
import { injectFault } from "../../support/fault_injection.ts";
import { resourceTally } from "../../../src/ffi/native_device.ts";
import { WorkTimer } from "../../../src/lab/trace/work_timer.ts";
import { device } from "../../support/device.ts";

const { context, stream } = device;
const SPIN = "spin_float32(float* out, unsigned long long nanoseconds, float value)";

/** `cudaErrorMemoryAllocation`. */
const OUT_OF_MEMORY = 2;

function events(): number {
  return resourceTally(context.library).events;
}

Deno.test("WorkTimer times work on each stream, and reuses its events", async () => {
  using side = device.createStream();
  using out = device.allocate("float32", 1);
  const spin = device.kernels.load(SPIN);
  const before = events();
  const times = new Map<string, number>();
  {
    using timer = new WorkTimer<string>(
      context,
      ({ work, start, end }) => void times.set(work, end.elapsedSince(start)),
    );
    const launch = (milliseconds: number, on: typeof stream) => () =>
      spin.launch({ grid: 1, block: 1, stream: on }, out, milliseconds * 1e6, 1);
    timer.time("long", stream, launch(20, stream));
    timer.time("short", side, launch(2, side));
    assertEquals(timer.waitingCount, 2);
    await timer.settle();
    assertEquals([timer.waitingCount, events()], [0, before + 4]);
    timer.time("third", stream, () => {});
    assertEquals(events(), before + 4);
    await timer.settle();
  }
  assertEquals([...times.keys()].sort(), ["long", "short", "third"]);
  assert(times.get("long")! >= 20 && times.get("short")! >= 2, Deno.inspect(times));
  assertEquals(events(), before);
});

Deno.test("time() leaves no event when the work is refused", async () => {
  const before = events();
  let evaluated = 0;
  {
    using timer = new WorkTimer<string>(context, () => evaluated++);
    const fail = () => {
      throw new RangeError("refused");
    };
    assertThrows(() => timer.time("refused", stream, fail), RangeError, "refused");
    await timer.settle();
    assertEquals([evaluated, timer.waitingCount], [0, 0]);
  }
  assertEquals(events(), before);
});

Deno.test("time() enqueues nothing when an event cannot be made", () => {
  const before = events();
  let enqueued = 0;
  for (const nth of [1, 2]) {
    using timer = new WorkTimer<string>(context, () => {});
    const time = () => timer.time("no event", stream, () => enqueued++);
    using _fault = injectFault(context.library, "cudaEventCreateWithFlags", nth, OUT_OF_MEMORY);
    assertThrows(time, CudaError, "create an event");
  }
  assertEquals([enqueued, events()], [0, before]);
});

Deno.test("settle() evaluates its work when the timer is disposed meanwhile", async () => {
  const before = events();
  let evaluated = 0;
  const timer = new WorkTimer<string>(context, () => evaluated++);
  timer.time("one", stream, () => {});
  const settled = timer.settle();
  timer[Symbol.dispose]();
  await settled;
  assertEquals([evaluated, events()], [1, before]);
});
