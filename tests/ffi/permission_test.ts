import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { device } from "../support/device.ts";
import { repositoryPath, runProgram } from "../support/subprocess.ts";
import { TemporaryDirectory } from "../support/temporary_file.ts";

const LIBRARY = device.context.library.path;
const SELECTOR = device.info.kind;

/** Everything that memory and kernels can do, with the one permission. */
const PROGRAM = `
  import { load, openDevice } from "@gridstride/cuda";
  load({ path: Deno.args[0] });
  using device = openDevice(Deno.args[1]);
  using x = device.upload(new Float32Array([1, 2, 3]));
  using pinned = device.allocatePinned("float32", 3);
  pinned.array.set([10, 20, 30]);
  using y = device.allocate("float32", 3);
  pinned.copyTo(y);
  device.kernels.axpy(2, x, y);
  pinned.copyFrom(y);
  await device.stream.done();
  console.log([...pinned.array].join(), (await y.toArray()).join());
`;

Deno.test("`openDevice()` needs only FFI permission for the library file", async () => {
  const { code, stdout, stderr } = await runProgram(PROGRAM, {
    permissions: [`--allow-ffi=${LIBRARY}`],
    args: [LIBRARY, SELECTOR],
    environment: { GRIDSTRIDE_FAKE: undefined },
  });
  assertEquals(stderr, "");
  assertEquals(stdout, "12,24,36 12,24,36\n");
  assertEquals(code, 0);
});

Deno.test("`openDevice()` names the missing flag and does not prompt", async () => {
  const { code, stderr } = await runProgram(PROGRAM, {
    permissions: [],
    args: [LIBRARY, SELECTOR],
  });
  assertEquals(code, 1);
  assertStringIncludes(stderr, `--allow-ffi=${LIBRARY}`);
});

Deno.test("`mod.ts` needs no permission when imported, and opens nothing", async () => {
  const program = `
    const module = await import("@gridstride/cuda");
    console.log(Object.keys(module).length > 20);
  `;
  const { code, stdout, stderr } = await runProgram(program, { permissions: [] });
  assertEquals(stderr, "");
  assertEquals(stdout, "true\n");
  assertEquals(code, 0);
});

Deno.test({
  name: "`mod.ts` maps no native library when imported",
  ignore: Deno.build.os !== "linux",
  async fn() {
    const { stdout } = await runProgram(
      `
        import * as module from "@gridstride/cuda";
        const mapped = () => Deno.readTextFileSync("/proc/self/maps").includes("libgridstride");
        console.log(mapped());
        module.listDevices();
        console.log(mapped());
      `,
    );
    assertEquals(stdout, "false\ntrue\n");
  },
});

Deno.test("`mod.ts` loads only its own modules and LogTape", async () => {
  const { stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["info", "--json", repositoryPath("mod.ts")],
  }).output();
  const graph = JSON.parse(new TextDecoder().decode(stdout)) as {
    modules: { specifier: string }[];
  };
  const root = new URL("../../src/", import.meta.url).href;
  const foreign = graph.modules.map(({ specifier }) => specifier).filter((specifier) =>
    !specifier.startsWith(root) && !specifier.endsWith("/mod.ts") &&
    !specifier.startsWith("node:") && !specifier.startsWith("npm:/@logtape/logtape@") &&
    // The types that deno.json declares for a checkout, which no module loads.
    !specifier.endsWith("/tests/support/std.d.ts") && !specifier.startsWith("npm:/deno-std@")
  );
  assertEquals(foreign, []);
  assert(graph.modules.length > 20);
});

Deno.test("a missing FFI permission comes before the advice to build", async () => {
  const program = `
    import { diagnose, openDevice } from "@gridstride/cuda";
    try { openDevice("host"); } catch (error) { console.log(error.message.replaceAll("\\n", " ")); }
    const { problems } = await diagnose();
    console.log(problems.find(({ code }) => code === "no-host-library").fix);`;
  const read = async (permissions: string[], library?: string) => {
    const { stdout, stderr } = await runProgram(program, {
      permissions,
      environment: { GRIDSTRIDE_LIBRARY: library },
    });
    assertEquals(stderr, "");
    return stdout.trimEnd().split("\n") as [string, string];
  };
  const [message, fix] = await read([]);
  const start = "Cannot open the host library as permission for FFI is not granted, and ";
  assert(message.startsWith(start), message);
  assertMatch(
    message,
    / Run again with --allow-ffi=\/\S+libgridstride_host\S+\. If it is not built/,
  );
  assertMatch(fix, /^Run again with --allow-ffi=\/\S+libgridstride_host\.\w+$/);
  using empty = new TemporaryDirectory();
  const [unbuilt, build] = await read(["-A"], empty.path);
  assertMatch(unbuilt, /no such file Build it with `deno task build` in \//);
  assertMatch(build, /^Run `deno task build` in \//);
});
