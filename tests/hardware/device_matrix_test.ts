import { assert, assertEquals } from "@std/assert";
import { runCommandLine, runProgram } from "../support/subprocess.ts";

/** Prints what a program, `doctor` and the list say of one environment. */
const PROGRAM = `
  import { defaultDevice, diagnose, listDevices, openDevice } from "@gridstride/cuda";
  const listed = listDevices().map((info) => [info.computeCapability, info.totalMemory / 2 ** 30]);
  const attempt = (open) => { try { return open(); } catch (error) { return error.name; } };
  const opened = attempt(() => { using device = openDevice(); return device.label; });
  const chosen = attempt(() => { const info = defaultDevice(); return info.kind + ":" + info.ordinal; });
  let sum = null;
  if (opened.includes(":")) {
    using device = openDevice();
    using x = device.upload(new Float32Array(1000).fill(2));
    using out = device.allocate("float32", 1);
    device.kernels.sum(x, out);
    sum = (await out.toArray())[0];
  }
  const { ok, problems } = await diagnose();
  const problem = problems.find(({ code }) => code === "no-device")?.message;
  console.log(JSON.stringify({ listed, opened, chosen, sum, ok, problem }));
`;

async function answers(environment: Readonly<Record<string, string>>) {
  const { stdout, stderr } = await runProgram(PROGRAM, { environment });
  assertEquals(stderr, "");
  return JSON.parse(stdout);
}

const MATRIX: readonly (readonly [fake: string, listed: readonly (readonly [string, number])[]])[] =
  [
    ["4GiB@7.5", [["7.5", 4]]],
    ["16GiB@8.0", [["8.0", 16]]],
    ["80GiB@9.0", [["9.0", 80]]],
    ["2x24GiB@8.9", [["8.9", 24], ["8.9", 24]]],
    ["24GiB@12.1", [["12.1", 24]]],
    ["none", []],
  ];

Deno.test("every fake device lists, opens and computes, and none is the same answer everywhere", async () => {
  for (const [fake, listed] of MATRIX) {
    const found = await answers({ GRIDSTRIDE_FAKE: fake });
    const isNone = listed.length === 0;
    assertEquals(found.listed, listed, fake);
    assertEquals(found.opened, isNone ? "NoDeviceError" : "host:0", fake);
    assertEquals(found.chosen, found.opened, fake);
    assertEquals([found.sum, found.ok], isNone ? [null, false] : [2000, true], fake);
  }
});

Deno.test("`GRIDSTRIDE_DEVICE` has the same answer everywhere", async () => {
  const GRIDSTRIDE_FAKE = "4GiB@7.5,80GiB@9.0";
  for (
    const [wanted, opened] of [["host:0", "host:0"], ["host:7", undefined], [
      "cuda",
      undefined,
    ]] as const
  ) {
    const environment = { GRIDSTRIDE_FAKE, GRIDSTRIDE_DEVICE: wanted };
    const found = await answers(environment);
    assertEquals([found.opened, found.chosen], Array(2).fill(opened ?? "NoDeviceError"), wanted);
    assertEquals(found.ok, opened !== undefined, wanted);
    assertEquals(found.problem === undefined, found.ok, wanted);
    const { stdout } = await runCommandLine(["devices"], environment);
    const says = opened === undefined ? "openDevice() fails, as" : `openDevice() opens ${opened}: `;
    assert(stdout.includes(`${says}`) && stdout.includes(`GRIDSTRIDE_DEVICE is ${wanted}`), stdout);
    const doctor = await runCommandLine(["doctor"], environment);
    assertEquals(doctor.code, opened === undefined ? 1 : 0, wanted);
  }
});

Deno.test("`CUDA_DEVICE_ORDER` orders the devices of the host library", async () => {
  const GRIDSTRIDE_FAKE = "24GiB@8.9,80GiB@9.0,8GiB@7.5";
  const listed = async (environment: Readonly<Record<string, string>>) =>
    (await answers({ GRIDSTRIDE_FAKE, ...environment })).listed.map(([first]: [string]) => first);
  assertEquals(await listed({}), ["8.9", "9.0", "7.5"]);
  assertEquals(await listed({ CUDA_DEVICE_ORDER: "PCI_BUS_ID" }), ["8.9", "9.0", "7.5"]);
  assertEquals(await listed({ CUDA_DEVICE_ORDER: "FASTEST_FIRST" }), ["9.0", "8.9", "7.5"]);
});
