// Every variable is read as its page says, refused by name when it cannot be understood, and never
// prompted for.

import { assert, assertEquals, assertThrows } from "@std/assert";
import { EnvironmentError } from "../../src/ffi/granted_environment.ts";
import { Environment } from "../../src/hardware/environment.ts";

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

const VARIABLES: readonly (readonly [variable: string, accessor: Accessor])[] = [
  ["GRIDSTRIDE_DEVICE", "device"],
  ["GRIDSTRIDE_LIBRARY", "library"],
  ["GRIDSTRIDE_FAKE", "fake"],
  ["GRIDSTRIDE_STRICT", "strict"],
  ["GRIDSTRIDE_LOG", "log"],
  ["GRIDSTRIDE_CACHE_DIR", "cacheDirectory"],
  ["GRIDSTRIDE_CACHE_SIZE", "cacheSize"],
  ["GRIDSTRIDE_HOST_THREADS", "hostThreads"],
  ["CUDA_VISIBLE_DEVICES", "visibleDevices"],
  ["CUDA_DEVICE_ORDER", "deviceOrder"],
  ["CUDA_LAUNCH_BLOCKING", "launchBlocking"],
  ["GRIDSTRIDE_MEMORY_FRACTION", "memoryFraction"],
  ["CUDA_MEMORY_POOL_SIZE", "memoryPoolSize"],
  ["CUDA_MEMORY_POOL_TRIM", "memoryPoolTrim"],
  ["CUDA_HOME", "cudaHome"],
];

for (const [variable, accessor] of VARIABLES) {
  Deno.test(`Environment.${accessor} has its default when ${variable} is unset or denied`, () => {
    const unset = environment({});
    const isFlag = accessor === "strict" || accessor === "launchBlocking";
    assertEquals(unset[accessor] as unknown, isFlag ? false : undefined);
    assertEquals(unset.deniedVariables, []);
    const denied = environment({}, [variable]);
    assertEquals(denied[accessor] as unknown, isFlag ? false : undefined);
    assertEquals(denied.deniedVariables, [variable]);
  });
}

const READ: readonly (readonly [string, string, Accessor, unknown])[] = [
  ["GRIDSTRIDE_DEVICE", "cuda:1", "device", { kind: "cuda", ordinal: 1 }],
  ["GRIDSTRIDE_LIBRARY", "/opt/x.so", "library", "/opt/x.so"],
  ["GRIDSTRIDE_FAKE", "none", "fake", { kind: "none" }],
  ["GRIDSTRIDE_STRICT", "1", "strict", true],
  ["GRIDSTRIDE_STRICT", "0", "strict", false],
  ["GRIDSTRIDE_LOG", "debug", "log", { level: "debug", categories: new Map() }],
  ["GRIDSTRIDE_LOG", "memory=off,ffi.call=trace", "log", {
    categories: new Map([["memory", "off"], ["ffi.call", "trace"]]),
  }],
  ["GRIDSTRIDE_CACHE_DIR", "/var/cache", "cacheDirectory", "/var/cache"],
  ["GRIDSTRIDE_CACHE_SIZE", "1GiB", "cacheSize", 2 ** 30],
  ["GRIDSTRIDE_CACHE_SIZE", "0", "cacheSize", 0],
  ["GRIDSTRIDE_HOST_THREADS", "1", "hostThreads", 1],
  ["GRIDSTRIDE_HOST_THREADS", "1024", "hostThreads", 1024],
  ["CUDA_VISIBLE_DEVICES", "2,0", "visibleDevices", [2, 0]],
  ["CUDA_VISIBLE_DEVICES", " 2 , 0 ", "visibleDevices", [2, 0]],
  ["CUDA_VISIBLE_DEVICES", "", "visibleDevices", []],
  ["CUDA_VISIBLE_DEVICES", "-1", "visibleDevices", []],
  ["CUDA_VISIBLE_DEVICES", "1,-1,whatever", "visibleDevices", [1]],
  ["CUDA_VISIBLE_DEVICES", "NoDevFiles", "visibleDevices", []],
  ["CUDA_VISIBLE_DEVICES", "GPU-5ac9,1", "visibleDevices", ["GPU-5ac9", 1]],
  ["CUDA_VISIBLE_DEVICES", "MIG-GPU-5ac9/7/0", "visibleDevices", ["MIG-GPU-5ac9/7/0"]],
  ["CUDA_DEVICE_ORDER", "PCI_BUS_ID", "deviceOrder", "PCI_BUS_ID"],
  ["CUDA_DEVICE_ORDER", "FASTEST_FIRST", "deviceOrder", "FASTEST_FIRST"],
  ["CUDA_LAUNCH_BLOCKING", "1", "launchBlocking", true],
  ["GRIDSTRIDE_MEMORY_FRACTION", "0.9", "memoryFraction", 0.9],
  ["GRIDSTRIDE_MEMORY_FRACTION", ".5", "memoryFraction", 0.5],
  ["GRIDSTRIDE_MEMORY_FRACTION", "1", "memoryFraction", 1],
  ["GRIDSTRIDE_MEMORY_FRACTION", "1.0", "memoryFraction", 1],
  ["CUDA_MEMORY_POOL_SIZE", "2G", "memoryPoolSize", 2 ** 31],
  ["CUDA_MEMORY_POOL_SIZE", "512MiB", "memoryPoolSize", 2 ** 29],
  ["CUDA_MEMORY_POOL_SIZE", "2GB", "memoryPoolSize", 2 ** 31],
  ["CUDA_MEMORY_POOL_TRIM", "1", "memoryPoolTrim", true],
  ["CUDA_MEMORY_POOL_TRIM", "true", "memoryPoolTrim", true],
  ["CUDA_MEMORY_POOL_TRIM", "0", "memoryPoolTrim", false],
  ["CUDA_MEMORY_POOL_TRIM", "false", "memoryPoolTrim", false],
  ["CUDA_HOME", "/usr/local/cuda", "cudaHome", "/usr/local/cuda"],
  ["CUDA_HOME", "", "cudaHome", undefined],
  ["CUDA_PATH", "/usr/local/cuda-12", "cudaHome", "/usr/local/cuda-12"],
];

for (const [variable, value, accessor, expected] of READ) {
  Deno.test(`Environment.${accessor} reads ${variable}=${JSON.stringify(value)}`, () => {
    assertEquals(environment({ [variable]: value })[accessor] as unknown, expected);
  });
}

const REFUSED: Readonly<Record<string, readonly string[]>> = {
  GRIDSTRIDE_DEVICE: ["", "gpu", "cuda:-1"],
  GRIDSTRIDE_LIBRARY: [""],
  GRIDSTRIDE_FAKE: ["", "4x24GB@"],
  GRIDSTRIDE_STRICT: ["", "true"],
  GRIDSTRIDE_LOG: [
    "",
    "loud",
    "memory=loud",
    "memory=debug,",
    "debug,memory=info",
    "memory=debug,memroy=info",
  ],
  GRIDSTRIDE_CACHE_DIR: ["", "cache"],
  GRIDSTRIDE_CACHE_SIZE: ["", "-1", "1 GiB"],
  GRIDSTRIDE_HOST_THREADS: ["0", "1025", "2.0", ""],
  CUDA_VISIBLE_DEVICES: ["a", "0,,1", "0;1"],
  CUDA_DEVICE_ORDER: ["pci_bus_id"],
  CUDA_LAUNCH_BLOCKING: ["yes"],
  GRIDSTRIDE_MEMORY_FRACTION: ["", "0", "0.0", "-0.5", "1.0001", "90%", "1e-1", "NaN", "."],
  CUDA_MEMORY_POOL_SIZE: ["", "0", "2 GB", "1.5G", "8192T"],
  CUDA_MEMORY_POOL_TRIM: ["", "yes", "TRUE", "2"],
};

for (const [variable, values] of Object.entries(REFUSED)) {
  const [, accessor] = VARIABLES.find(([name]) => name === variable)!;
  Deno.test(`Environment.${accessor} refuses malformed values of ${variable}`, () => {
    for (const value of values) {
      const read = () => environment({ [variable]: value })[accessor];
      const error = assertThrows(read, EnvironmentError, undefined, value);
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
  const directory = await Deno.makeTempDir();
  const path = `${directory}/program.ts`;
  await Deno.writeTextFile(path, program);
  const text = new TextDecoder();
  const run = async (...permissions: string[]) => {
    const { stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["run", "--quiet", "--no-config", ...permissions, path],
      env: { GRIDSTRIDE_LIBRARY: "/opt/x.so", GRIDSTRIDE_STRICT: "1", NO_COLOR: "1" },
      stdin: "null",
    }).output();
    return { stdout: text.decode(stdout), stderr: text.decode(stderr) };
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
  await Deno.remove(directory, { recursive: true });
});
