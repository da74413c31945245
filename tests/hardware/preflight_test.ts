// preflight() distinguishes the reasons for which CUDA cannot be used, each with its remedy.

import { assert, assertEquals } from "@std/assert";
import { cudaObstacle, type NativeCudaState } from "../../src/hardware/cuda_backend.ts";
import { parseFakeSetting } from "../../src/hardware/fake_topology.ts";
import { checkCuda, type DetectionOptions } from "../../src/hardware/backends.ts";

const BARE: Omit<DetectionOptions, "cuda"> = {
  runner: {
    run: () => Promise.resolve({ kind: "absent" }),
    path: () => Promise.resolve({ kind: "absent" }),
  },
  gpu: null,
  operatingSystem: "linux",
};

const READY = {
  kind: "queried",
  status: 0,
  deviceCount: 2,
  driverVersion: 13000,
  runtimeVersion: 13000,
} as const;

function check(
  state: NativeCudaState,
  { strict = false, ...options }: Partial<DetectionOptions> & { strict?: boolean } = {},
) {
  return checkCuda({ ...BARE, cuda: () => state, ...options }, strict);
}

Deno.test("`preflight()` is ok when the driver shows a device", async () => {
  assertEquals(await check(READY), { ok: true, summary: "Available GPU backends: CUDA 13.0" });
});

const OBSTACLES: readonly (readonly [NativeCudaState, string, string, string])[] = [
  [{ kind: "no-library", detail: "tried /a, /b" }, "no-library", "tried /a, /b", "/build"],
  [{ kind: "permission", detail: "/a.so" }, "permission", "may not open", "--allow-ffi"],
  [
    { ...READY, status: 35, deviceCount: 0, driverVersion: 0 },
    "no-driver",
    "There is no NVIDIA driver",
    "Install the NVIDIA driver",
  ],
  [
    { ...READY, status: 35, deviceCount: 0, driverVersion: 11040 },
    "driver-too-old",
    "supports CUDA 11.4, the library was built with CUDA 13.0",
    "Update the NVIDIA driver to one for CUDA 13.0",
  ],
  [{ ...READY, status: 34, deviceCount: 0 }, "no-driver", "stub", "lib64/stubs"],
  [{ ...READY, status: 100, deviceCount: 0 }, "no-device", "no device", "CUDA_VISIBLE_DEVICES"],
  [{ ...READY, deviceCount: 0 }, "no-device", "no device", "nvidia-smi"],
  [
    { ...READY, status: 803, deviceCount: 0 },
    "driver-error",
    "cudaErrorSystemDriverMismatch (803)",
    "Restart after updating",
  ],
];

for (const [state, code, reason, fix] of OBSTACLES) {
  const status = state.kind === "queried" ? ` with status ${state.status}` : "";
  Deno.test(`preflight() says ${code} when the library is ${state.kind}${status}`, async () => {
    const result = await check(state);
    assert(!result.ok);
    assertEquals(result.code as string, code);
    assert(result.reason.includes(reason), result.reason);
    assert(result.fix.includes(fix), result.fix);
    assertEquals(result.summary, "No GPU backend is available");
  });
}

Deno.test("`cudaObstacle()` has a reason and a fix for every status", () => {
  for (let status = 1; status < 1000; status++) {
    const obstacle = cudaObstacle({ ...READY, status, deviceCount: 0 });
    assert(obstacle && obstacle.reason !== "" && /\.$/.test(obstacle.fix), String(status));
  }
});

Deno.test("`preflight()` is ok and labels the summary when there is a fake", async () => {
  const missing: NativeCudaState = { kind: "no-library", detail: "" };
  const devices = await check(missing, { fake: parseFakeSetting("4x24GiB@8.9") });
  assert(devices.ok);
  assert(devices.summary.startsWith("4 fake device(s) of GRIDSTRIDE_FAKE"), devices.summary);
  const backend = await check(missing, { fake: parseFakeSetting("cuda,webgpu") });
  assert(backend.ok);
  assert(backend.summary.includes("1 fake device(s)") && backend.summary.includes("CUDA [fake]"));
});

Deno.test("`preflight()` reports no device for a fake without CUDA", async () => {
  for (const value of ["none", "rocm,metal,webgpu"]) {
    const result = await check(READY, { fake: parseFakeSetting(value) });
    assert(!result.ok);
    assertEquals(result.code, "no-device");
    assert(result.fix.includes("GRIDSTRIDE_FAKE"));
  }
});

Deno.test("`preflight()` refuses every fake when strict", async () => {
  for (const value of ["none", "24GiB@8.9", "cuda"]) {
    const result = await check(READY, { fake: parseFakeSetting(value), strict: true });
    assert(!result.ok);
    assertEquals(result.code, "fake-refused");
  }
  assert((await check(READY, { strict: true })).ok);
});
