// `gridstride compile` for the host device, and for NVIDIA's architectures if NVRTC is installed.

import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { device } from "../support/device.ts";
import { repositoryPath } from "../support/subprocess.ts";
import { TemporaryDirectory } from "../support/temporary_file.ts";
import {
  assertFails,
  isCudaCompilerMissing,
  type Output,
  runInProcess,
  useTemporaryCache,
} from "./in_process.ts";

const SOURCE = repositoryPath("tests/cli/fixtures/kernels.cu");
const ELF = [0x7f, 0x45, 0x4c, 0x46];

useTemporaryCache();

function compile(...args: string[]): Promise<Output> {
  return runInProcess(["compile", SOURCE, ...args]);
}

const ignore = await isCudaCompilerMissing();

Deno.test({
  name: "`compile` for the host device writes a shared library and prints the names of kernels",
  ignore: device.info.kind !== "host",
  async fn() {
    using folder = new TemporaryDirectory();
    const output = `${folder.path}/kernels.so`;
    const host = ["--device", device.label];
    const json = await compile(...host, "--json", "--output", output, "--instance", "fill<int>");
    assertEquals([json.code, json.stderr], [0, ""]);
    const { format, fake, bytes, names, kernels, ...rest } = JSON.parse(json.stdout);
    assertEquals([format, fake, rest], ["library", device.info.fake, { output }]);
    const written = Deno.readFileSync(output);
    assertEquals([written.length, [...written.subarray(0, 4)]], [bytes, ELF]);
    assertEquals(
      Object.keys(names).sort().join(),
      "chatter,fault,fill<int>,reverse,saxpy,shape",
    );

    assertEquals(kernels.length, 6);

    const text = await compile(...host);
    assertEquals(text.code, 0);
    const listed = "kernels: saxpy, shape, reverse, chatter, fault\n\n";
    assertMatch(
      text.stdout,
      /^library for host:\d+.*, compute capability [\d.]+, [\d.]+ KiB\n\nkernels: /,
    );
    const table = await compile(...host, "--resources");
    assertStringIncludes(table.stdout, listed);
    assertStringIncludes(table.stdout, "--arch 9.0");
    const none = folder.file(
      new TextEncoder().encode("template <int N> __global__ void k(int* y) { y[0] = N; }\n"),
      "none.cu",
    );
    const failed = await runInProcess(["compile", none, ...host]);
    assertEquals([failed.code, failed.stdout], [1, ""]);
    assertStringIncludes(failed.stderr, "--instance");
    const made = await runInProcess(["compile", none, ...host, "--instance", "k<3>"]);
    assertStringIncludes(made.stdout, "kernels: k<3>\n");
    const ptx = await compile(...host, "--ptx");
    assertEquals([ptx.code, ptx.stdout], [2, ""]);
    assertStringIncludes(ptx.stderr, "--arch");
  },
});

Deno.test({
  name: "`compile` for an architecture creates PTX, machine code, and a table of resources",
  ignore,
  async fn() {
    using folder = new TemporaryDirectory();
    const ptx = await compile("--arch", "9.0", "--ptx");
    assertEquals(ptx.code, 0, ptx.stderr);
    assertMatch(ptx.stdout, /^\.target sm_90$/m);
    const accelerated = await compile("--arch", "sm_90a", "--ptx");
    assertMatch(accelerated.stdout, /^\.target sm_90a$/m);
    for (const name of ["saxpy", "shape", "reverse"]) {
      assertMatch(ptx.stdout, new RegExp(`\\.entry \\w*${name}`), name);
    }

    const output = `${folder.path}/kernels.cubin`;
    const cubin = await compile("--arch", "sm_90", "--cubin", "--output", output, "--json");
    assertEquals(cubin.code, 0, cubin.stderr);
    assertEquals(JSON.parse(cubin.stdout).format, "cubin");
    const written = Deno.readFileSync(output);
    assertEquals([...written.subarray(0, 4)], ELF);
    assertEquals(new DataView(written.buffer).getUint16(18, true), 190, "the machine is CUDA");

    const instance = ["--instance", "fill<double>"];
    const resources = await compile("--arch", "90", "--resources", "--json", ...instance);
    const rows = JSON.parse(resources.stdout) as Record<string, unknown>[];
    assertEquals(
      rows.map(({ kernel }) => kernel).sort().join(),
      "chatter,fault,fill<double>,reverse,saxpy,shape",
    );
    for (const row of rows) {
      assertEquals(Object.keys(row), ["kernel", "registers", "sharedMemory", "localMemory"]);
      assert(row["registers"] as number > 0);
    }
    const table = await compile("--arch", "9.0", "--resources", ...instance);
    assertMatch(table.stdout, /^fill<double> +\d+ +0 B +0 B$/m);
  },
});

Deno.test("`compile` exits with 1 and the line of an error in the source", async () => {
  using folder = new TemporaryDirectory();
  const source = folder.file(
    new TextEncoder().encode("\n__global__ void k(int* y) { y[0] = undeclared; }\n"),
    "broken.cu",
  );
  const { code, stdout, stderr } = await runInProcess(["compile", source]);
  assertEquals([code, stdout], [1, ""]);
  for (const text of ["broken.cu:2", "undeclared", "^"]) assertStringIncludes(stderr, text);
  const output = `${folder.path}/no/such`;
  const unwritable = await compile("--output", output);
  assertEquals(unwritable.code, 1);
  assertStringIncludes(unwritable.stderr, output);
});

Deno.test("`compile` exits with 2 for invalid options", async () => {
  await assertFails(2, runInProcess, [
    [["compile"], "missing required argument 'FILE.cu'"],
    [["compile", SOURCE, "b.cu"], "too many arguments"],
    [["compile", SOURCE, "--ptx", "--cubin"], "both --ptx and --cubin"],
    [["compile", SOURCE, "--arch", "9.0", "--device", "host"], "both --arch and --device"],
    [["compile", SOURCE, "--arch", "hopper"], '"hopper"'],
    [["compile", SOURCE, "--arch", "9.00"], '"9.00"'],
    [["compile", SOURCE, "--arch", "sm_90b"], '"sm_90b"'],
    [["compile", SOURCE, "--define", "1=2"], "--define"],
    [["compile", SOURCE, "--grid", "2"], "--grid"],
  ]);
});
