import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { stripAnsiCode } from "@std/fmt/colors";
import { describeTelemetry } from "../../src/cli/top.ts";
import { device } from "../support/device.ts";
import { processEnvironment, repositoryPath, runCommandLine } from "../support/subprocess.ts";
import { assertFails, runInProcess } from "./in_process.ts";

Deno.test("`top --once` prints each device with a bar of its load and its memory", async () => {
  const { code, stdout } = await runInProcess(["top", "--once"]);
  assertEquals(code, 0);
  assertStringIncludes(stdout, `${device.label}  ${device.info.name}\n  load    `);
  assertMatch(stdout, /^ {2}load {4}(?:[█░]{20} +\d+ %|–)$/m);
  assertMatch(stdout, /^ {2}memory {2}[█░]{20} +\d+ % {3}\d\S* [MG]iB of /m);
  assert(!stdout.includes("\x1b"), stdout);
});

Deno.test("`top --json` prints one array with the telemetry of all devices", async () => {
  const { code, stdout } = await runCommandLine(["top", "--json"], {
    GRIDSTRIDE_FAKE: "2x24GiB@8.9",
  });
  const devices = JSON.parse(stdout) as Record<string, unknown>[];
  assertEquals([code, devices.map((it) => [it["device"], it["fake"]])], [0, [
    ["host:0", true],
    ["host:1", true],
  ]]);
  for (const { memoryUsed, memoryTotal, unavailable } of devices) {
    assert((memoryUsed as number) <= (memoryTotal as number));
    assertStringIncludes((unavailable as { power: string }).power, "host device");
  }
});

Deno.test("`describeTelemetry()` leaves out what is not reported, and names throttling", () => {
  const values = {
    utilization: 87.4,
    memoryUtilization: 41,
    memoryUsed: 20 * 2 ** 30,
    memoryTotal: 80 * 2 ** 30,
    temperature: 66,
    power: 612.345,
    powerLimit: 700,
    clockMegahertz: 1755,
    memoryClockMegahertz: 3201,
    throttleReasons: ["idle", "power limit"] as const,
    unavailable: {},
  };
  const info = { ...device.info, kind: "cuda", ordinal: 1, fake: false, name: "H200" } as const;
  const describe = (telemetry: typeof values) =>
    stripAnsiCode(describeTelemetry({ info, telemetry })).split("\n");
  assertEquals(describe(values), [
    "cuda:1  H200",
    `  load    ${"█".repeat(17)}░░░  87 %`,
    `  memory  ${"█".repeat(5)}${
      "░".repeat(15)
    }  25 %   20 GiB of 80 GiB   41 % of the time accessed`,
    "  66 °C   612 of 700 W   1755 MHz   3201 MHz memory",
    "  clocks lowered by: power limit",
  ]);
  const none = Object.fromEntries(Object.keys(values).map((name) => [name, undefined]));
  assertEquals(describe(none as unknown as typeof values), [
    "cuda:1  H200",
    "  load    –",
    "  memory  –",
  ]);
});

Deno.test("`top` refuses intervals out of range, and exits with 1 without a device", async () => {
  await assertFails(2, runInProcess, [
    [["top", "--interval", "0"], "--interval as it must be a number of seconds in 0.1..3600"],
    [["top", "--interval", "1s"], 'it is "1s"'],
  ]);
  const none = await runCommandLine(["top"], { GRIDSTRIDE_FAKE: "none" });
  assertEquals([none.code, none.stdout.startsWith("No device.")], [1, true]);
});

function hasScript(): boolean {
  try {
    return new Deno.Command("script", { args: ["--version"] }).outputSync().success;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

/** What `top` prints on a terminal of its own until a key ends it, and the terminal's state then. */
async function onTerminal(key: string): Promise<string> {
  const top = [
    Deno.execPath(),
    "run",
    "-A",
    "--quiet",
    "--no-check",
    "--cached-only",
    `--config=${repositoryPath("deno.json")}`,
    repositoryPath("src/cli/main.ts"),
    "top",
    "--interval=0.1",
  ].map((word) => `'${word}'`).join(" ");
  const child = new Deno.Command("script", {
    args: [
      "--quiet",
      "--return",
      "--command",
      `timeout --foreground 30 ${top}; echo "code $?"; stty -a`,
      "/dev/null",
    ],
    stdin: "piped",
    stdout: "piped",
    stderr: "null",
    env: processEnvironment({ GRIDSTRIDE_FAKE: "1GiB@8.9", NO_COLOR: undefined }),
    clearEnv: true,
  }).spawn();
  const keys = child.stdin.getWriter();
  let text = "";
  let isTyped = false;
  for await (const part of child.stdout.pipeThrough(new TextDecoderStream())) {
    text += part;
    // The second report shows that the view is alive.
    if (isTyped || text.split("q quits").length < 3) continue;
    isTyped = true;
    await keys.write(new TextEncoder().encode(key));
  }
  await child.status;
  await keys.close();
  return text;
}

Deno.test({
  name: "`top` restores the terminal when q or Ctrl-C ends it",
  ignore: Deno.build.os !== "linux" || !hasScript(),
  async fn() {
    const keys = ["q", "\x03"];
    const outputs = await Promise.all(keys.map(onTerminal));
    for (const [index, text] of outputs.entries()) {
      const [view = "", after = ""] = text.split("\x1b[?1049l");
      assert(view.startsWith("\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[H"), view);
      assert(view.endsWith("\x1b[?7h\x1b[?25h"), view);
      assertMatch(after, /^code 0\r\n/, JSON.stringify(keys[index]));
      assertMatch(after, /[^-]icanon/);
      assertMatch(after, /[^-]echo /);
    }
  },
});
