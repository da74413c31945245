import { assert, assertEquals, assertMatch, assertStringIncludes, assertThrows } from "@std/assert";
import type { DeviceInfo, Diagnosis, ValidationRow } from "../../mod.ts";
import { type Command, UsageError } from "../../src/cli/command.ts";
import { parseCommandLine } from "../../src/cli/command_line.ts";
import { defineOptions, extentsOption, integerOption } from "../../src/cli/options.ts";
import { repositoryPath, runCommandLine } from "../support/subprocess.ts";
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
    "backends,driverVersion,libraries,ok,permissions,problems,toolkitVersion",
  );
  assertEquals(diagnosis.ok, true);
  assertEquals(code, 0);
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

Deno.test("`validate --json` lists every kernel with error and bound", async () => {
  const { code, stdout } = await run(["validate", "--device", "host", "--json"]);
  const rows = JSON.parse(stdout) as ValidationRow[];
  assertEquals(code, 0);
  assert(rows.length > 200);
  for (const row of rows) {
    assertEquals(Object.keys(row).join(), "kernel,device,dtype,size,maxError,bound,passed");
    assert(row.passed && row.maxError <= row.bound, JSON.stringify(row));
  }
});

Deno.test("`--help` prints lines of at most 100 columns for every command", async () => {
  const { code, stdout } = await runInProcess(["--help"]);
  assertEquals(code, 0);
  const names = [...stdout.matchAll(/^ {2}([a-z]+) {2,}/gm)].map(([, name]) => name!);
  assert(names.includes("analyze") && names.includes("memory"), stdout);
  const all = [...names.map((name) => [name]), ["memory", "replay"], ["memory", "report"]];
  for (const words of all) {
    const help = await runInProcess([...words, "--help"]);
    assertEquals(help.code, 0);
    assertStringIncludes(help.stdout, `gridstride ${words.join(" ")}`);
    assertEquals(help.stdout.split("\n").filter((line) => line.length > 100), [], words.join(" "));
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
  await assertFails(2, run, [
    [[], "Usage:"],
    [["devises"], "Cannot run gridstride devises"],
    [["devices", "--jason"], "--jason"],
    [["devices", "extra"], '"extra"'],
    [["validate", "--device", "gpu"], '"gpu"'],
    [["validate", "--device"], "Cannot use --device as its value is missing"],
    [
      ["memory", "nothing"],
      "Cannot run gridstride memory nothing as the command must be one of replay",
    ],
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
  help: `gridstride run [options]

  --shared N       a value
  --grid X,Y,Z     several values
                   on two lines
  --ptx            a flag
  --option TEXT    a list; can be repeated
  --define K=V     a list that can be
                   repeated

Further text.`,
  run: () => Promise.resolve(0),
};

function read(...args: string[]) {
  return parseCommandLine([COMMAND], ["run", ...args]).invocation;
}

Deno.test("`parseCommandLine()` accepts values and numbers that begin with a dash", () => {
  const nothing = { positional: [], options: {}, lists: {}, json: false };
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
      [["--ptx", "-2", "-.5", "-inf"], {
        positional: ["-2", "-.5", "-inf"],
        options: { ptx: true },
      }],
    ] as const
  ) {
    assertEquals(read(...args), { ...nothing, ...expected });
  }
});

Deno.test("`parseCommandLine()` refuses missing values and unknown options", () => {
  for (
    const [args, message] of [
      [["--option", "--json"], "Cannot use --option as its value is missing"],
      [["--option", "--shared=1"], "Cannot use --option as its value is missing"],
      [["--option"], "Cannot use --option as its value is missing"],
      [["--shared", "--ptx"], "Cannot use --shared as its value is missing"],
      [["--ptx", "-O3"], "Cannot use -O3 as gridstride run has no such option"],
      [["-O3"], "Cannot use -O3 as gridstride run has no such option"],
    ] as const
  ) {
    assertThrows(() => read(...args), UsageError, message);
  }
});

Deno.test("`parseCommandLine()` keeps the order of repeated options", () => {
  const { lists, positional } = read("--define", "N=16", "a", "--define=M", "--", "--define", "b");
  assertEquals([lists, positional], [{ define: ["N=16", "M"] }, ["a", "--define", "b"]]);
});

Deno.test("`parseCommandLine()` accepts options before the command", () => {
  const all = { positional: ["k.cu"], options: { ptx: true as const }, lists: {}, json: true };
  for (
    const words of [
      "--json run --ptx k.cu",
      "--json --ptx run k.cu",
      "--device host --json run k.cu --ptx",
    ]
  ) {
    const { device: _, ...rest } = parseCommandLine([COMMAND], words.split(" ")).invocation;
    assertEquals(rest, all, words);
  }
  assertEquals(parseCommandLine([COMMAND], ["--device", "host", "run"]).invocation.device, "host");
  assertThrows(
    () => parseCommandLine([COMMAND], ["--json", "ran"]),
    UsageError,
    "gridstride ran as",
  );
  assertEquals(parseCommandLine([COMMAND], ["--help"]).command, undefined);
});

Deno.test("`defineOptions()` reads macros", () => {
  const define = (...texts: string[]) => defineOptions({ ...read(), lists: { define: texts } });
  assertEquals(define("N=16", "M", "F=x=y", "E="), { N: "16", M: "1", F: "x=y", E: "" });
  assertEquals(defineOptions(read()), {});
  for (const text of ["1N=2", "=2", "a b=2"]) assertThrows(() => define(text), UsageError, text);
  assertThrows(() => define("N=1", "N=2"), UsageError, "the macro N is defined twice");
});

Deno.test("`extentsOption()` and `integerOption()` check their values", () => {
  const grid = (text: string) => extentsOption(read("--grid", text), "grid");
  assertEquals([grid("8"), grid("8,4"), grid("8x4x2")], [[8], [8, 4], [8, 4, 2]]);
  assertEquals(extentsOption(read(), "grid"), undefined);
  for (const text of ["0", "8,0", "1,2,3,4", "a", "8,", "-1", "1.5", "99999999999"]) {
    assertThrows(() => grid(text), UsageError, `"${text}"`);
  }
  const shared = (text: string) => integerOption(read("--shared", text), "shared", 1, 50);
  assertEquals([shared("1"), shared("50")], [1, 50]);
  for (const text of ["0", "51", "-1", "1.5", "many"]) {
    assertThrows(() => shared(text), UsageError, "an integer in 1..50");
  }
});
