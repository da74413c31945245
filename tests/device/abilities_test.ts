import { assert, assertEquals, assertMatch } from "@std/assert";
import { abilities } from "../../src/device/abilities.ts";
import { device } from "../support/device.ts";
import { runProgram } from "../support/subprocess.ts";

const { library } = device.context;

Deno.test("abilities() names what each missing part needs", () => {
  const parts = { cuda: undefined, host: undefined, driverVersion: null, toolkitVersion: null };
  const installs = (given: Partial<Parameters<typeof abilities>[0]>) =>
    new Map(abilities({ ...parts, ...given }).map(({ ability, install }) => [ability, install]));
  const gpu = "GPU: built-in kernels";
  const build = "build of the CUDA library";
  const toolkit = "the CUDA toolkit (nvcc)";
  const nothing = installs({});
  assertMatch(
    nothing.get(gpu)!,
    /^the NVIDIA driver, and the CUDA toolkit \(nvcc\); then run /,
  );
  assertEquals(nothing.get(build), toolkit);
  assertMatch(nothing.get("host device: built-in kernels")!, /^a C\+\+17 compiler; then run /);
  assertMatch(nothing.get("gridstride compile --arch")!, /pip install nvidia-cuda-nvrtc/);
  // Only a driver: the library is to be built.
  assertMatch(installs({ driverVersion: "13.0" }).get(gpu)!, /^the CUDA toolkit \(nvcc\); then/);
  // Only a toolkit.
  const withToolkit = installs({ toolkitVersion: "13.0" });
  assertMatch(withToolkit.get(gpu)!, /^the NVIDIA driver, and the CUDA library: run /);
  assertEquals(withToolkit.get(build), null);
  // All of it, whichever library compiles.
  const all = abilities({
    cuda: library,
    host: library,
    driverVersion: "13.0",
    toolkitVersion: "13.0",
  });
  const builtIn = all.find(({ ability }) => ability === gpu)!;
  assertEquals([builtIn.install, builtIn.by], [null, "driver for CUDA 13.0, the CUDA library"]);
});

Deno.test("abilities() looks for the C++ compiler and NVRTC", async () => {
  const { stdout, stderr } = await runProgram(
    `import { diagnose } from "@gridstride/cuda";
     for (const { ability, by, install } of (await diagnose()).abilities) {
       console.log(ability, "|", by, "|", install);
     }`,
    {
      environment: {
        CXX: "/nowhere/c++",
        CUDAHOSTCXX: undefined,
        GRIDSTRIDE_NVRTC: "/nowhere",
        GRIDSTRIDE_DEVICE: "host",
      },
    },
  );
  assert(
    stdout.includes(
      "host device: kernels from source, tensors | null | a C++17 compiler (g++ or clang++)",
    ),
    stdout + stderr,
  );
  assert(
    /gridstride compile --arch \| null \| .*pip install nvidia-cuda-nvrtc/.test(stdout),
    stdout,
  );
});
