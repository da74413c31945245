import { assert, assertEquals, assertThrows } from "@std/assert";
import { CudaError, type Device, MemoryPool, NoDeviceError, openDevice } from "../../mod.ts";
import { callTally, injectFault, wrappedCalls } from "../support/fault_injection.ts";
import { type ResourceTally, resourceTally } from "../../src/ffi/native_device.ts";
import { device } from "../support/device.ts";
import { poolOf } from "../../src/memory/pool/device_pools.ts";
import { BUSY_TIME, type Fixture, makeFixture, perform } from "./fault_injection_fixture.ts";
import { MODULE_OPERATIONS, MODULE_RESOURCES } from "./fault_injection_modules.ts";
import { OPERATIONS, RESOURCES } from "./fault_injection_operations.ts";
import { POOL_OPERATIONS, POOL_RESOURCES } from "./fault_injection_pools.ts";

/** cudaErrorDevicesUnavailable: nothing here ever fails with it by itself, and it is not sticky. */
const STATUS = 46;
/** cudaErrorIllegalAddress. */
const STICKY = 700;

const { library } = device.context;
const CALLS = wrappedCalls(library);

/** Calls with a number that depends on the speed of the machine. */
const POLLED: readonly string[] = ["cudaEventQuery", "cudaStreamQuery"];

/**
 * Calls with failures that are valid answers: a driver without devices, or memory that the
 * management library does not report.
 */
const ANSWERS: readonly string[] = [
  "cudaGetDeviceCount",
  "nvmlInit_v2",
  "nvmlDeviceGetHandleByUUID",
  "nvmlDeviceGetMemoryInfo",
];

/** Names in errors for failures on another thread. */
const ELSEWHERE: readonly string[] = [
  "cudaEventQuery",
  "cudaDeviceSynchronize",
  "cudaLibraryLoadData",
];

/** Calls that no operation makes, and the reason. */
const NOT_MADE: Readonly<Record<string, string>> = {
  cudaDeviceCanAccessPeer: "needs two devices: several_devices_test.ts",
  cudaDeviceEnablePeerAccess: "needs two devices: several_devices_test.ts",
  cudaMemcpyPeerAsync: "needs two devices: several_devices_test.ts",
  cudaPointerGetAttributes: "only for memory of other libraries",
  cudaMemsetAsync: "only the C ABI sets memory so: tests/native/shim",
  cuMemsetD16Async: "only the C ABI sets memory so: tests/native/shim",
  cuMemsetD32Async: "only the C ABI sets memory so: tests/native/shim",
  cuDeviceGetAttribute: "only for what the runtime has no name for",
  cuFuncIsLoaded: "only in the native tests",
  cudaStreamIsCapturing: "only where the end of a capture has failed already",
  cudaMemcpy2DAsync: "only the C ABI copies rectangles: tests/native/shim",
  cuKernelGetName: "modules of sources know the names of their kernels: tests/native/shim",
};

/** Calls of NVRTC, cuBLASLt and NVML, which are optional. */
const isOptional = (call: string) => /^(nvrtc|cublasLt|nvml)/.test(call);

/**
 * A wait or a small download creates an event, and a timing several. An event that cannot be
 * destroyed is lost: this is the only resource that a failure can cost, and CUDA has no reason to
 * fail there.
 */
function isLostEvent(name: string, call: string): boolean {
  return /^(?:stream\.done|timeKernel|buffer\.(?:toArray|copyTo)|module\.variable that is read)/
    .test(name) && call === "cudaEventDestroy";
}

/**
 * The statuses of failures. A device that is lost while memory is unmapped loses that memory. An
 * injected loss only omits the call: the memory stays mapped, and its addresses cannot be released.
 * several_devices_test.ts covers that with a lost device.
 */
function statusesFor(calls: ReadonlyMap<string, number>): readonly number[] {
  return calls.has("cuMemUnmap") ? [STATUS] : [STATUS, STICKY];
}

/** The resources of a device after all its work. */
async function settledTally(own: Device): Promise<ResourceTally> {
  await own.done();
  poolOf(own.context).settleSync();
  return resourceTally(library);
}

function callCounts(): Map<string, number> {
  return new Map(CALLS.map((call) => [call, callTally(library, call)]));
}

/** A run of an operation or a disposal; an operation returns its resources. */
type Run = () => Promise<DisposableStack> | void;

/** The CUDA calls of a run, and their numbers. */
async function callsOf(run: Run): Promise<Map<string, number>> {
  const before = callCounts();
  const resources = await run();
  const after = callCounts();
  resources?.dispose();
  const made = CALLS.map((call) => [call, after.get(call)! - before.get(call)!] as const);
  return new Map(made.filter(([, count]) => count > 0));
}

/** The error of a run with a fault, and whether the run came as far as the failing call. */
interface Outcome {
  readonly error: unknown;
  readonly fired: boolean;
}

/** Runs with a fault in the nth call of a kind. */
async function outcomeOf(run: Run, call: string, nth: number, status: number): Promise<Outcome> {
  const made = callTally(library, call);
  const fired = () => callTally(library, call) - made >= nth;
  using _fault = injectFault(library, call, nth, status);
  try {
    (await run())?.dispose();
    return { error: undefined, fired: fired() };
  } catch (error) {
    return { error, fired: fired() };
  } finally {
    // No device was really lost.
    library.lostDevices.clear();
  }
}

/** The same with several attempts: on a busy machine short work may end before a wait begins. */
async function outcomeOfSome(
  run: Run,
  fixture: Fixture,
  call: string,
  nth: number,
  status: number,
): Promise<Outcome> {
  const attempts = ANSWERS.includes(call) ? 1 : 5;
  let fired = false;
  for (let attempt = 0; attempt < attempts; attempt++) {
    await device.done(); // or the next copy would find its staging memory in use, and take more
    fixture.busyTime = BUSY_TIME * 6 ** attempt;
    const outcome = await outcomeOf(run, call, nth, status);
    fixture.busyTime = BUSY_TIME;
    if (outcome.error !== undefined) return outcome;
    fired ||= outcome.fired;
  }
  return { error: undefined, fired };
}

function assertFailure(error: unknown, call: string, status: number, what: string): void {
  assert(error instanceof CudaError, `${what} threw ${Deno.inspect(error)}`);
  assertEquals(error.code, status, what);
  assert(
    error.call === call || ELSEWHERE.includes(error.call ?? ""),
    `${what}: it names ${error.call}`,
  );
  assertEquals(error.sticky, status === STICKY, what);
}

/** Accepts no error, no device, or an error with the code, if a failure is a valid answer. */
function assertAnswer(error: unknown, status: number, what: string): void {
  if (error === undefined || error instanceof NoDeviceError) return;
  assert(error instanceof Error && error.message.includes(String(status)), `${what}: ${error}`);
}

/** The calls of a run that fail in turn. */
function* eachCall(calls: ReadonlyMap<string, number>): Generator<readonly [string, number]> {
  for (const [call, count] of calls) {
    const last = POLLED.includes(call) ? 1 : Math.min(count, 4);
    for (let nth = 1; nth <= last; nth++) yield [call, nth];
  }
}

const covered = new Set<string>();

for (
  const [name, operation] of Object.entries({
    ...OPERATIONS,
    ...POOL_OPERATIONS,
    ...MODULE_OPERATIONS,
  })
) {
  Deno.test(`${name} reports any failing CUDA call, leaks nothing, and works again`, async () => {
    // With staging memory of its own, which no other test has left in any state.
    using own = openDevice(device.label);
    using fixture = makeFixture(own);
    (await perform(operation, fixture)).dispose(); // creates the resources that are kept
    await device.done();
    const calls = await callsOf(() => perform(operation, fixture));
    let failures = 0;
    for (const [call, nth] of eachCall(calls)) {
      for (const status of statusesFor(calls)) {
        const before = isLostEvent(name, call) ? undefined : await settledTally(own);
        const what = `${name} with call ${nth} of ${call} failing with ${status}`;
        const { error, fired } = await outcomeOfSome(
          () => perform(operation, fixture),
          fixture,
          call,
          nth,
          status,
        );
        await device.done();
        // How often an event is made depends on whether an earlier one is free again by then.
        if (error === undefined && !fired) continue;
        failures++;
        covered.add(call);
        if (ANSWERS.includes(call)) assertAnswer(error, status, what);
        else assertFailure(error, call, status, what);
        (await perform(operation, fixture)).dispose();
        if (before !== undefined) assertEquals(await settledTally(own), before, what);
      }
    }
    assert(failures > 0 || calls.size === 0, "no call failed");
  });
}

for (
  const [name, make] of Object.entries({ ...RESOURCES, ...POOL_RESOURCES, ...MODULE_RESOURCES })
) {
  Deno.test(`${name} stays when its release fails, and can be released again`, async () => {
    using fixture = makeFixture(device);
    (await make(fixture))[Symbol.dispose]();
    const none = await settledTally(device);
    const sample = await make(fixture);
    const calls = await callsOf(() => sample[Symbol.dispose]());
    assert(calls.size > 0, "the disposal makes no CUDA call");
    for (const call of calls.keys()) covered.add(call);
    for (const [call, nth] of eachCall(calls)) {
      const resource = await make(fixture);
      const what = `disposing ${name} with call ${nth} of ${call} failing`;
      const { error } = await outcomeOf(() => resource[Symbol.dispose](), call, nth, STATUS);
      assertFailure(error, call, STATUS, what);
      resource[Symbol.dispose]();
      assertEquals(await settledTally(device), none, what);
      resource[Symbol.dispose]();
    }
  });
}

Deno.test("Device.allocate() retries on a later rung when the device refuses once", () => {
  using own = openDevice(device.label);
  using pool = new MemoryPool(own);
  for (const call of ["cuMemCreate", "cuMemAddressReserve"]) {
    using _fault = injectFault(library, call, 1, 2);
    using _buffer = pool.allocate("uint8", 10_000_000);
    assertEquals(pool.stats().outOfMemory, 0, call);
  }
  assertEquals(pool.stats().retries, 1);
});

Deno.test("A sticky failure of another device does not lose this device", () => {
  {
    using _fault = injectFault(library, "cudaEventCreateWithFlags", 1, STICKY);
    const error = assertThrows(() => device.createEvent(), CudaError);
    assert(error.sticky);
  }
  using again = openDevice(device.label);
  assertEquals(again.memoryInfo().total, device.memoryInfo().total);
  library.lostDevices.clear();
});

Deno.test("The fault injection covers every wrapped CUDA call or gives a reason", () => {
  const missed = CALLS.filter((call) =>
    !covered.has(call) && NOT_MADE[call] === undefined && !isOptional(call)
  );
  assertEquals(missed, []);
});
