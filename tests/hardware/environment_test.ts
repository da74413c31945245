// Values of environment variables: read, refused by name, and never prompted for.

import { assert, assertEquals, assertThrows } from "@std/assert";
import { EnvironmentError } from "../../src/ffi/granted_environment.ts";
import { Environment } from "../../src/hardware/environment.ts";
import { runProgram } from "../support/subprocess.ts";

/** An environment of these variables; `denied` ones may not be read. */
function environment(values: Record<string, string>, denied: readonly string[] = []): Environment {
  return new Environment({
    readable: (variable) => !denied.includes(variable),
    get(variable) {
      assert(!denied.includes(variable), `${variable} was read without permission`);
      return values[variable];
    },
  });
}

type Accessor = Exclude<keyof Environment, "read" | "deniedVariables">;

const VARIABLES: Readonly<Record<Accessor, string>> = {
  device: "GRIDSTRIDE_DEVICE",
  library: "GRIDSTRIDE_LIBRARY",
  fake: "GRIDSTRIDE_FAKE",
  strict: "GRIDSTRIDE_STRICT",
  log: "GRIDSTRIDE_LOG",
  cacheDirectory: "GRIDSTRIDE_CACHE_DIR",
  cacheSize: "GRIDSTRIDE_CACHE_SIZE",
  hostThreads: "GRIDSTRIDE_HOST_THREADS",
  hostOrder: "GRIDSTRIDE_HOST_ORDER",
  kernelTimeout: "GRIDSTRIDE_KERNEL_TIMEOUT",
  simulate: "GRIDSTRIDE_SIMULATE",
  hostVectors: "GRIDSTRIDE_HOST_VECTORS",
  visibleDevices: "CUDA_VISIBLE_DEVICES",
  deviceOrder: "CUDA_DEVICE_ORDER",
  launchBlocking: "CUDA_LAUNCH_BLOCKING",
  memoryFraction: "GRIDSTRIDE_MEMORY_FRACTION",
  memoryPoolSize: "CUDA_MEMORY_POOL_SIZE",
  memoryPoolTrim: "CUDA_MEMORY_POOL_TRIM",
  memoryPoolCache: "GRIDSTRIDE_POOL_CACHE",
  cudaHome: "CUDA_HOME",
};
const ACCESSORS = Object.keys(VARIABLES) as Accessor[];

Deno.test("Environment has a default when a variable is unset or denied", () => {
  for (const accessor of ACCESSORS) {
    const variable = VARIABLES[accessor];
    const isFlag = accessor === "strict" || accessor === "simulate" ||
      accessor === "launchBlocking";
    const unset = environment({});
    assertEquals(unset[accessor] as unknown, isFlag ? false : undefined);
    assertEquals(unset.deniedVariables, []);
    const denied = environment({}, [variable]);
    assertEquals(denied[accessor] as unknown, isFlag ? false : undefined);
    assertEquals(denied.deniedVariables, [variable]);
  }
});

const READ: Readonly<Record<Accessor, Readonly<Record<string, unknown>>>> = {
  device: { "cuda:1": { kind: "cuda", ordinal: 1 } },
  library: { "/opt/x.so": "/opt/x.so" },
  fake: { none: { kind: "none" } },
  strict: { "1": true, "0": false },
  simulate: { "1": true, "0": false },
  hostVectors: { avx2: "avx2", portable: "portable" },
  log: {
    debug: { level: "debug", categories: new Map() },
    "memory=off,ffi.call=trace": {
      categories: new Map([["memory", "off"], ["ffi.call", "trace"]]),
    },
  },
  cacheDirectory: { "/var/cache": "/var/cache" },
  cacheSize: { "1GiB": 2 ** 30, "0": 0 },
  hostThreads: { "1": 1, "1024": 1024 },
  hostOrder: { forward: "forward", reverse: "reverse" },
  kernelTimeout: { "1": 1, "2147483647": 2147483647, none: Infinity },
  visibleDevices: {
    "2,0": [2, 0],
    " 2 , 0 ": [2, 0],
    "": [],
    "-1": [],
    "1,-1,whatever": [1],
    NoDevFiles: [],
    "GPU-5ac9,1": ["GPU-5ac9", 1],
    "MIG-GPU-5ac9/7/0": ["MIG-GPU-5ac9/7/0"],
  },
  deviceOrder: { PCI_BUS_ID: "PCI_BUS_ID", FASTEST_FIRST: "FASTEST_FIRST" },
  launchBlocking: { "1": true },
  memoryFraction: { "0.9": 0.9, ".5": 0.5, "1": 1, "1.0": 1 },
  memoryPoolSize: { "2G": 2 ** 31, "512MiB": 2 ** 29, "2GB": 2 ** 31 },
  memoryPoolTrim: { "1": true, true: true, "0": false, false: false },
  memoryPoolCache: { "0": 0, "256MiB": 2 ** 28 },
  cudaHome: { "/usr/local/cuda": "/usr/local/cuda", "": undefined },
};

for (const accessor of ACCESSORS) {
  Deno.test(`Environment.${accessor} reads ${VARIABLES[accessor]}`, () => {
    for (const [value, expected] of Object.entries(READ[accessor])) {
      const read = environment({ [VARIABLES[accessor]]: value })[accessor] as unknown;
      assertEquals(read, expected, value);
    }
  });
}

const REFUSED: Readonly<Partial<Record<Accessor, readonly string[]>>> = {
  device: ["", "gpu", "cuda:-1"],
  library: [""],
  fake: ["", "4x24GB@"],
  strict: ["", "true"],
  log: ["", "loud", "memory=loud", "memory=debug,", "debug,memory=info", "memory=off,memroy=info"],
  cacheDirectory: ["", "cache"],
  cacheSize: ["", "-1", "1 GiB"],
  hostThreads: ["0", "1025", "2.0", ""],
  hostOrder: ["", "backward", "Reverse"],
  kernelTimeout: ["0", "1.5", "2147483648", "Infinity", ""],
  visibleDevices: ["a", "0,,1", "0;1"],
  deviceOrder: ["pci_bus_id"],
  launchBlocking: ["yes"],
  hostVectors: ["", "AVX2", "avx"],
  memoryFraction: ["", "0", "0.0", "-0.5", "1.0001", "90%", "1e-1", "NaN", "."],
  memoryPoolSize: ["", "0", "2 GB", "1.5G", "8192T"],
  memoryPoolTrim: ["", "yes", "TRUE", "2"],
  memoryPoolCache: ["", "-1", "much", "00"],
};

for (const accessor of ACCESSORS) {
  Deno.test(`Environment.${accessor} names ${VARIABLES[accessor]} when it is malformed`, () => {
    const variable = VARIABLES[accessor];
    for (const value of REFUSED[accessor] ?? []) {
      const malformed = environment({ [variable]: value });
      const error = assertThrows(() => malformed[accessor], EnvironmentError);
      assertEquals([error.name, error.variable, error.value], [
        "EnvironmentError",
        variable,
        value,
      ]);
      assert(error.message.startsWith(`Cannot use ${variable}=${JSON.stringify(value)}`));
      assert(error.allowed !== "" && error.message.endsWith(`allowed is ${error.allowed}`));
    }
  });
}

Deno.test("`Environment.cudaHome` prefers CUDA_HOME to CUDA_PATH", () => {
  assertEquals(environment({ CUDA_HOME: "/a", CUDA_PATH: "/b" }).cudaHome, "/a");
  assertEquals(environment({ CUDA_HOME: "", CUDA_PATH: "/b" }).cudaHome, "/b");
});

Deno.test("`Environment.deniedVariables` lists variables that were read without permission", () => {
  const denied = environment({}, [
    "GRIDSTRIDE_LOG",
    "CUDA_HOME",
    "CUDA_PATH",
    "CUDA_VISIBLE_DEVICES",
  ]);
  void [denied.log, denied.cudaHome, denied.device];
  assertEquals(denied.deniedVariables, ["CUDA_HOME", "CUDA_PATH", "GRIDSTRIDE_LOG"]);
});

Deno.test("`Environment` reads a variable at each access", () => {
  const values: Record<string, string> = { GRIDSTRIDE_STRICT: "1" };
  const changing = environment(values);
  assertEquals(changing.strict, true);
  values.GRIDSTRIDE_STRICT = "0";
  assertEquals(changing.strict, false);
});

Deno.test("`Environment` reads the process's variables without prompting", async () => {
  const module = new URL("../../src/hardware/environment.ts", import.meta.url).href;
  const program = `
    import { Environment } from ${JSON.stringify(module)};
    const environment = new Environment();
    console.log(environment.library, environment.strict, environment.deniedVariables.join());
  `;
  const environment = { GRIDSTRIDE_LIBRARY: "/opt/x.so", GRIDSTRIDE_STRICT: "1" };
  const run = async (...permissions: string[]) => {
    const { stdout, stderr } = await runProgram(program, { permissions, environment });
    return { stdout, stderr };
  };
  assertEquals(await run("--allow-env"), { stdout: "/opt/x.so true \n", stderr: "" });
  assertEquals(await run("--allow-env=GRIDSTRIDE_STRICT"), {
    stdout: "undefined true GRIDSTRIDE_LIBRARY\n",
    stderr: "",
  });
  assertEquals(await run(), {
    stdout: "undefined false GRIDSTRIDE_LIBRARY,GRIDSTRIDE_STRICT\n",
    stderr: "",
  });
});
