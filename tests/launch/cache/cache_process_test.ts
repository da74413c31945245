import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { repositoryPath, runFile, type SubprocessOptions } from "../../support/subprocess.ts";
import { TemporaryDirectory } from "../../support/temporary_file.ts";
import type { ProcessReport } from "./cache_process.ts";

const PROGRAM = "tests/launch/cache/cache_process.ts";
const LOG = { GRIDSTRIDE_LOG: "warning" };

function run(args: readonly string[], options: SubprocessOptions = {}) {
  const permissions = options.permissions ?? ["-A"];
  return runFile(PROGRAM, {
    ...options,
    args,
    permissions: [...permissions, "--no-check"],
    environment: LOG,
  });
}

async function report(args: readonly string[], options?: SubprocessOptions) {
  const { code, stdout, stderr } = await run(args, options);
  assertEquals(code, 0, stderr);
  return { ...JSON.parse(stdout) as ProcessReport, warnings: warningsIn(stderr) };
}

function warningsIn(stderr: string): string[] {
  return stderr.split("\n").filter((line) => line.startsWith("[warning]"));
}

function range(from: number, to: number): string[] {
  return Array.from({ length: to - from }, (_, index) => String(from + index));
}

Deno.test("CacheStore.write() leaves the cache intact when the process is killed", async () => {
  using folder = new TemporaryDirectory();
  const killed = await run([folder.path, "1GiB", "die", "50000", "1"]);
  assertEquals(killed.signal, "SIGKILL");
  const temporary = [...Deno.readDirSync(`${folder.path}/temporary`)];
  assertEquals(temporary.length, 1, "it was writing");
  const { size } = Deno.statSync(`${folder.path}/temporary/${temporary[0]!.name}`);
  assert(size > 20_000 && size < 50_000, `half of the entry is there: ${size} bytes`);

  const next = await report([folder.path, "1GiB", "compile", "50000", "1"]);
  assertEquals([next.cached, next.statistics.corrupt], [[false], 0]);
  const found = await report([folder.path, "1GiB", "compile", "50000", "1"]);
  assertEquals([found.cached, found.statistics.corrupt], [[true], 0]);
});

Deno.test("cachedCompile() works in two processes with a cache that is too small", async () => {
  using folder = new TemporaryDirectory();
  const args = [folder.path, "40000", "compile", "3000", ...range(0, 20), ...range(0, 20)];
  const both = await Promise.all([report(args), report(args)]);
  for (const { statistics, warnings } of both) {
    assertEquals([statistics.corrupt, statistics.failed, warnings], [0, 0, []]);
    assertEquals(statistics.hits + statistics.misses, 40);
  }
  assert(both.some(({ statistics }) => statistics.evicted > 0), "it is too small");
  const entries = [...Deno.readDirSync(`${folder.path}/entries`)]
    .flatMap(({ name }) => [...Deno.readDirSync(`${folder.path}/entries/${name}`)]);
  assert(entries.length >= 8, `${entries.length} entries`);
});

Deno.test("cachedCompile() warns once of a missing permission", async () => {
  using folder = new TemporaryDirectory();
  const path = folder.path;
  await report([path, "1GiB", "compile", "1000", "1"]);
  const [env, read, write, sys] = [
    "--allow-env",
    // The package too: in a checkout its state is part of the key.
    `--allow-read=${path},${repositoryPath("")}`,
    `--allow-write=${path}`,
    "--allow-sys=uid",
  ];
  for (
    const [permissions, cached, missing] of [
      [[env, read, write, sys], [true, false, false], []],
      [[env, read, sys], [true, false, false], [write]],
      [[env, write, sys], [false, false, false], [read]],
      [[env, read, write], [false, false, false], [sys]],
      [[env], [false, false, false], [read, sys]],
    ] as const
  ) {
    const numbers = permissions.length === 4 ? ["1", "2", "3"] : ["1", "4", "5"];
    const found = await report([path, "1GiB", "compile", "1000", ...numbers], { permissions });
    assertEquals(found.cached, [...cached], permissions.join(" "));
    assertEquals(found.warnings.length, missing.length === 0 ? 0 : 1, found.warnings.join("\n"));
    for (const flag of missing) {
      assertStringIncludes(found.warnings[0]!, flag.replace(/,.*/, ""));
    }
  }
});

/** Runs a shell script in a mount namespace of its own, where a file system is at `$1`. */
async function withFileSystem(
  folder: TemporaryDirectory,
  script: string,
): Promise<{ reports: ProcessReport[]; warnings: string[] }> {
  const deno = [Deno.execPath(), "run", "-A", "--no-check", "--quiet", "--cached-only"];
  const { code, stdout, stderr } = await new Deno.Command("unshare", {
    args: [
      ...[...NAMESPACE, "sh", "-ec", script, "sh"],
      ...[folder.path, ...deno, `--config=${repositoryPath("deno.json")}`, repositoryPath(PROGRAM)],
    ],
    env: { ...LOG, NO_COLOR: "1" },
  }).output();
  const decoder = new TextDecoder();
  assertEquals(code, 0, decoder.decode(stderr));
  const lines = decoder.decode(stdout).trim().split("\n");
  return {
    reports: lines.map((line) => JSON.parse(line)),
    warnings: warningsIn(decoder.decode(stderr)),
  };
}

const NAMESPACE = ["--user", "--map-root-user", "--mount"];

/** Whether this system lets a process mount something for itself. */
async function canMount(): Promise<boolean> {
  const mount = "mount -t tmpfs tmpfs /mnt";
  try {
    const command = new Deno.Command("unshare", { args: [...NAMESPACE, "sh", "-c", mount] });
    return (await command.output()).success;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

const ignore = !await canMount();
if (ignore) console.log("skipped: full and read-only file systems, as none can be mounted here");

Deno.test(
  { name: "cachedCompile() warns once of a full and of a read-only file system", ignore },
  async () => {
    using folder = new TemporaryDirectory();
    const { reports, warnings } = await withFileSystem(
      folder,
      `path=$1; shift
    mount -t tmpfs -o size=128k,mode=700 tmpfs "$path"
    "$@" "$path" 1GiB compile 200000 1 2 3
    "$@" "$path" 1GiB compile 1000 4
    mount -o remount,ro "$path"
    "$@" "$path" 1GiB compile 1000 4 5`,
    );
    assertEquals(reports.map(({ cached }) => cached), [[false, false, false], [false], [
      true,
      false,
    ]]);
    assertEquals(reports.map(({ statistics }) => statistics.failed), [3, 0, 1]);
    assertEquals(warnings.length, 2, warnings.join("\n"));
    assertStringIncludes(warnings[0]!, "No space left on device");
    assertStringIncludes(warnings[0]!, folder.path);
    assertStringIncludes(warnings[1]!, "Read-only file system");
  },
);
