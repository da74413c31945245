import { VERSION } from "../../src/ffi/version.ts";
import { VALIDATE } from "../../src/cli/devices.ts";
import { assert, assertEquals, assertMatch, assertStringIncludes, assertThrows } from "@std/assert";
import type { DeviceInfo, Diagnosis } from "../../mod.ts";
import type { ValidationRow } from "../../src/device/tensor.ts";
import { type Command, type Invocation, UsageError } from "../../src/cli/command.ts";
import { runProgram } from "../../src/cli/command_line.ts";
import { defineOptions, extentsOption, integerOption } from "../../src/cli/options.ts";
import { repositoryPath, runCommandLine } from "../support/subprocess.ts";
import { TemporaryDirectory } from "../support/temporary_file.ts";
import { assertFails, runInProcess } from "./in_process.ts";

const MAIN = repositoryPath("src/cli/main.ts");

const CLEAN = { GRIDSTRIDE_DEVICE: undefined, GRIDSTRIDE_STRICT: undefined } as const;

function run(args: readonly string[], environment: Record<string, string | undefined> = {}) {
  return runCommandLine(args, { ...CLEAN, GRIDSTRIDE_FAKE: undefined, ...environment });
}

Deno.test("`devices --json` lists simulated devices with their sizes and capabilities", async () => {
  const four = await run(["devices", "--json"], { GRIDSTRIDE_FAKE: "4x24GiB@8.9" });
  const devices = JSON.parse(four.stdout) as DeviceInfo[];
  const [device, ...rest] = devices;
  const { kind, fake, totalMemory, computeCapability } = device!;
  assertEquals([kind, fake, totalMemory, computeCapability], ["host", true, 25769803776, "8.9"]);
  assertEquals([0, ...rest.map(({ ordinal }) => ordinal)], [0, 1, 2, 3]);
  assertEquals(new Set(devices.map(({ uuid }) => uuid)).size, 4);
  assertEquals(four.code, 0);
});

Deno.test("`devices --json` prints an empty array without devices", async () => {
  const { code, stdout, stderr } = await run(["devices", "--json"], { GRIDSTRIDE_FAKE: "none" });
  assertEquals([code, JSON.parse(stdout), stderr], [0, [], ""]);
});

Deno.test("`main()` exits with 2 for a malformed environment variable, with its name", async () => {
  for (
    const [name, value] of [
      ["GRIDSTRIDE_FAKE", "4x24GB@"],
      ["GRIDSTRIDE_FAKE", ""],
      ["CUDA_LAUNCH_BLOCKING", "yes"],
      ["GRIDSTRIDE_STRICT", "2"],
      ["GRIDSTRIDE_LOG", "loud"],
      ["GRIDSTRIDE_HOST_THREADS", "0"],
      ["GRIDSTRIDE_HOST_ORDER", "sideways"],
      ["GRIDSTRIDE_LIBRARY", ""],
      ["GRIDSTRIDE_MEMORY_FRACTION", "1.5"],
      ["CUDA_MEMORY_POOL_SIZE", "2 GB"],
      ["CUDA_MEMORY_POOL_TRIM", "yes"],
      ["GRIDSTRIDE_CACHE_DIR", "relative"],
      ["GRIDSTRIDE_CACHE_SIZE", "much"],
    ] as const
  ) {
    const { code, stdout, stderr } = await run(["devices", "--json"], { [name]: value });
    assertEquals([code, stdout], [2, ""], `${name}=${value}`);
    assertEquals(stderr.trim().split("\n").length, 1, stderr);
    assertStringIncludes(stderr, name);
  }
});

Deno.test("`doctor --json` prints the documented fields", async () => {
  const { code, stdout } = await run(["doctor", "--json"]);
  const diagnosis = JSON.parse(stdout) as Diagnosis;
  assertEquals(
    Object.keys(diagnosis).sort().join(),
    "abilities,backends,driverVersion,libraries,ok,permissions,problems,toolkitVersion",
  );
  assertEquals(diagnosis.ok, true);
  assertEquals(code, 0);
  // A path is longer than a line where a compiler is deep in the file system.
  using folder = new TemporaryDirectory();
  const deep = `${folder.path}/${"deep/".repeat(8)}bin`;
  Deno.mkdirSync(deep, { recursive: true });
  Deno.symlinkSync("/bin/true", `${deep}/g++`);
  const text = await run(["doctor"], {
    ...{ PATH: `${deep}:${Deno.env.get("PATH")}`, CXX: undefined, CUDAHOSTCXX: undefined },
  });
  assertStringIncludes(text.stdout, `${deep}/g++`);
  // A word that is longer than its column stays whole, and ends the line.
  const wide = text.stdout.split("\n")
    .filter((line) => line.length > 80 && !/(?:^| {2}|→ )[^\s─]+$/.test(line));
  assertEquals([text.code, wide], [0, []]);
  assertMatch(text.stdout, /^cuda {5}file {11}\S/m);
  assertEquals(diagnosis.libraries.map(({ kind }) => kind), ["cuda", "host"]);
  for (const { code, message, fix } of diagnosis.problems) {
    assert(code !== "" && message !== "" && fix !== "");
  }
  for (const { evidence } of diagnosis.backends) assert(evidence.length > 0);
});

Deno.test("`doctor` exits with 1 without a library, and suggests a build", async () => {
  const directory = await Deno.makeTempDir();
  try {
    const { code, stdout } = await run(["doctor", "--json"], { GRIDSTRIDE_LIBRARY: directory });
    const { ok, problems } = JSON.parse(stdout) as Diagnosis;
    assertEquals([code, ok], [1, false]);
    const missing = problems.find((problem) => problem.code === "no-host-library");
    assertStringIncludes(missing!.message, directory);
    assertMatch(missing!.fix, /build/);
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
});

Deno.test("`validate --json` lists every check with error and bound", async () => {
  const fakes = { GRIDSTRIDE_FAKE: "1GiB@8.9" };
  const { code, stdout } = await run(
    ["validate", "--device", "host", "--operations", "sum,scale", "--json"],
    fakes,
  );
  const rows: ValidationRow[] = JSON.parse(stdout);
  assertEquals([code, rows.length], [0, 45]);
  const [builtIn, tensors] = [
    "operation,variant,device,fake,dtype,size",
    "operation,device,fake,dtype",
  ]
    .map((start) => `${start},maxError,bound,unit,passed`);
  for (const row of rows) {
    assertEquals(Object.keys(row).join(), row.unit === "ulp" ? tensors : builtIn);
    assert(row.fake && row.passed && row.maxError <= row.bound, JSON.stringify(row));
  }
});

Deno.test("`validate` prints its summary first, with the device, and one line per operation", async () => {
  const { code, stdout } = await run(["validate", "--operations=sum, histogram,scale"], {
    GRIDSTRIDE_FAKE: "1GiB@8.9",
  });
  const lines = stdout.trim().split("\n");
  assertEquals(code, 0, stdout);
  assertEquals(lines[0], "93 passed, 0 failed on host:0 (fake)");
  const checks = lines.filter((line) => line.startsWith("✓")).map((line) => line.split(/ {2,}/));
  assertEquals(checks.map(([, name, count]) => [name, count]), [
    ["histogram device.kernels shared", "24"],
    ["histogram device.kernels global", "24"],
    ["scale device.kernels", "8"],
    ["sum device.kernels", "24"],
    ["sum", "13"],
  ]);
  assertEquals(checks[0]![3], "exact");
  assertMatch(checks[2]![3]!, /^[\d.e-]+ of [\d.e-]+$/);
  assertMatch(checks[4]![3]!, /^[\d.]+ of 64 ULP$/);
});

Deno.test("`validate` suggests a name for one that is no operation", async () => {
  const { code, stderr } = await runInProcess(["validate", "--operations", "add,sofmax"]);
  assertEquals(code, 2);
  assertStringIncludes(stderr, 'one is "sofmax". Did you mean "softmax"?');
  const help = await runInProcess(["validate", "--help"]);
  assertMatch(help.stdout, /^Operations: DeviceAwareQuantizer, abs, [^]* softmax,/m);
});

Deno.test("`--version` prints the version of the package", async () => {
  assertEquals(await runInProcess(["--version"]), { code: 0, stdout: `${VERSION}\n`, stderr: "" });
});

Deno.test("`complete` prints a script for each shell, and proposes commands and options", async () => {
  for (const shell of ["bash", "zsh", "fish"]) {
    const { code, stdout } = await runInProcess(["complete", shell]);
    assertEquals(code, 0);
    assertMatch(stdout, /\bcomplete --/);
  }
  const { stdout } = await runInProcess(["complete", "bash"]);
  assertMatch(stdout, /^complete -o default -F (__gridstride_complete) gridstride$/m);
  assertStringIncludes(stdout, "__gridstride_complete() {");
  const propose = async (...words: string[]) =>
    (await runInProcess(["complete", "--", ...words])).stdout.trim().split("\n");
  assertEquals(await propose("va"), ["validate\t" + VALIDATE.summary, ":4"]);
  assertEquals((await propose("memory", "re")).length, 3);
  assertMatch((await propose("run", "--gr"))[0]!, /^--grid\tblocks/);
  // 0 lets the shell complete the names of files.
  assertEquals(await propose("run", "kern"), [":0"]);
});

Deno.test({
  name: "Colors are for terminals only, and NO_COLOR turns them off",
  ignore: Deno.build.os !== "linux",
  async fn() {
    const printed = async (NO_COLOR: string, pipe: string, words = "devices --help") => {
      const command = `'${Deno.execPath()}' run -A --quiet '${MAIN}' ${words} ${pipe}`;
      const { stdout } = await new Deno.Command("script", {
        args: ["--quiet", "--command", command, "/dev/null"],
        env: { NO_COLOR, TERM: "xterm" },
        stdin: "null",
      }).output();
      return new TextDecoder().decode(stdout);
    };
    assertStringIncludes(await printed("", ""), "\x1b[1mUsage:");
    for (const plain of [await printed("1", ""), await printed("", "| cat")]) {
      assertMatch(plain, /^Usage:/);
      assert(!plain.includes("\x1b["), plain);
    }
    // Results, too, whose first line is bold on a terminal.
    assertStringIncludes(await printed("", "", "devices"), "\x1b[1mdevice");
    assertMatch(await printed("", "| cat", "devices"), /^device/);
  },
});

Deno.test("`--help` prints lines of at most 80 columns for every command", async () => {
  const { code, stdout } = await runInProcess(["--help"]);
  assertEquals(code, 0);
  const names = [...stdout.matchAll(/^ {2}([a-z]+) {2,}/gm)].map(([, name]) => name!)
    .filter((name) => name !== "help");
  assert(names.includes("analyze") && names.includes("memory"), stdout);
  const all = [...names.map((name) => [name]), ["memory", "replay"], ["memory", "report"]];
  for (const words of all) {
    const help = await runInProcess([...words, "--help"]);
    assertEquals(help.code, 0);
    assertStringIncludes(help.stdout, `gridstride ${words.join(" ")}`);
    assertEquals(help.stdout.split("\n").filter((line) => line.length > 80), [], words.join(" "));
  }
});

Deno.test({
  name: "`main()` exits with 1 if stdout cannot be written",
  ignore: Deno.build.os !== "linux",
  async fn() {
    for (const words of ["analyze --stride 2", "devices --json", "--help"]) {
      const { code, stderr } = await new Deno.Command("sh", {
        args: [
          "-c",
          '"$0" run -A --quiet "$@" > /dev/full',
          Deno.execPath(),
          MAIN,
          ...words.split(" "),
        ],
        stdout: "null",
        stderr: "piped",
      }).output();
      assertEquals(
        [code, new TextDecoder().decode(stderr)],
        [1, "Cannot print the result: No space left on device (os error 28)\n"],
        words,
      );
    }
  },
});

Deno.test("`main()` exits with 2 for invalid arguments", async () => {
  await assertFails(2, runInProcess, [
    [[], "Usage:"],
    [["devises"], "unknown command 'devises'\n(Did you mean devices?)"],
    [["devices", "--jason"], "unknown option '--jason'\n(Did you mean --json?)"],
    [
      ["devices", "extra"],
      "too many arguments for 'devices'. Expected 0 arguments but got 1: extra",
    ],
    [["compile"], "missing required argument 'FILE.cu'"],
    [["validate", "--device", "gpu"], '"gpu"'],
    [["validate", "--device"], "option '--device <DEVICE>' argument missing"],
    [["memory", "reploy"], "unknown command 'reploy'\n(Did you mean replay?)"],
    [["complete", "tcsh"], "Allowed choices are zsh, bash, fish, powershell"],
  ]);
});

Deno.test("`main()` exits with 1 for a missing device", async () => {
  const none = await run(["validate"], { GRIDSTRIDE_FAKE: "none" });
  assertEquals([none.code, none.stdout], [1, ""]);
  assertStringIncludes(none.stderr, "GRIDSTRIDE_FAKE=none");
  const beyond = await run(["validate", "--device", "host:7"], { GRIDSTRIDE_FAKE: "1GiB@8.9" });
  assertEquals(beyond.code, 1);
  assertStringIncludes(beyond.stderr, "ordinal must be in 0..0: it is 7");
});

const COMMAND: Command = {
  name: "run",
  summary: "runs",
  arguments: "[FILE...]",
  description: "Runs.",
  options: { "--shared <N>": "a value", "--grid <X,Y,Z>": "several values", "--ptx": "a flag" },
  lists: { "--option <TEXT>": "a list", "-D, --define <K=V>": "a list" },
  run: () => Promise.resolve(0),
};

const NOTHING: Invocation = { positional: [], options: {}, lists: {}, json: false };

/** The command line as `COMMAND` gets it. */
async function read(...args: string[]): Promise<Invocation> {
  const invocations: Invocation[] = [];
  const run = (invocation: Invocation) => Promise.resolve(void invocations.push(invocation));
  assertEquals(await runProgram([{ ...COMMAND, run }], args), 0);
  return invocations[0]!;
}

Deno.test("`runProgram()` accepts values and numbers that begin with a dash", async () => {
  for (
    const [args, expected] of [
      [["--option", "-O3"], { lists: { option: ["-O3"] } }],
      [["--option=-O3"], { lists: { option: ["-O3"] } }],
      [["--option", "--use_fast_math", "--json"], {
        lists: { option: ["--use_fast_math"] },
        json: true,
      }],
      [["--option", "-O3", "--option", "-I/x", "k.cu"], {
        lists: { option: ["-O3", "-I/x"] },
        positional: ["k.cu"],
      }],
      [["--shared", "-1"], { options: { shared: "-1" } }],
      [["--option=--json", "--ptx"], { lists: { option: ["--json"] }, options: { ptx: true } }],
      [["--ptx", "-2", "-.5", "-inf", "-0x10"], {
        positional: ["-2", "-.5", "-inf", "-0x10"],
        options: { ptx: true },
      }],
      [["-DN=16", "a", "--define=M", "--", "--define", "b"], {
        lists: { define: ["N=16", "M"] },
        positional: ["a", "--define", "b"],
      }],
    ] as const
  ) {
    assertEquals(await read("run", ...args), { ...NOTHING, ...expected });
  }
  assertEquals(await read("--json", "run"), { ...NOTHING, json: true });
});

Deno.test("`defineOptions()` reads macros", () => {
  const define = (...texts: string[]) => defineOptions({ ...NOTHING, lists: { define: texts } });
  assertEquals(define("N=16", "M", "F=x=y", "E="), { N: "16", M: "1", F: "x=y", E: "" });
  assertEquals(defineOptions(NOTHING), {});
  for (const text of ["1N=2", "=2", "a b=2"]) assertThrows(() => define(text), UsageError, text);
  assertThrows(() => define("N=1", "N=2"), UsageError, "the macro N is defined twice");
});

Deno.test("`extentsOption()` and `integerOption()` check their values", () => {
  const grid = (text: string) => extentsOption({ ...NOTHING, options: { grid: text } }, "grid");
  assertEquals([grid("8"), grid("8,4"), grid("8x4x2")], [[8], [8, 4], [8, 4, 2]]);
  assertEquals(extentsOption(NOTHING, "grid"), undefined);
  for (const text of ["0", "8,0", "1,2,3,4", "a", "8,", "-1", "1.5", "99999999999"]) {
    assertThrows(() => grid(text), UsageError, `"${text}"`);
  }
  const shared = (text: string) =>
    integerOption({ ...NOTHING, options: { shared: text } }, "shared", 1, 50);
  assertEquals([shared("1"), shared("50")], [1, 50]);
  for (const text of ["0", "51", "-1", "1.5", "many"]) {
    assertThrows(() => shared(text), UsageError, "an integer in 1..50");
  }
});
