import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { bestDevice, NoDeviceError, openDevice } from "../../mod.ts";
import { device } from "../support/device.ts";
import { runProgram } from "../support/subprocess.ts";

const { kind } = device.info;

interface Outcome {
  readonly value: string;
  readonly name: string;
  readonly message: string;
  readonly variable?: string;
  readonly rejections?: number;
}

/** Outcomes of opening a device in one process, with one value of a variable after the other. */
async function outcomes(
  variable: string,
  values: readonly string[],
  environment: Readonly<Record<string, string | undefined>> = {},
): Promise<Outcome[]> {
  const { code, stdout, stderr } = await runProgram(
    `
      import { detectBackends, openDevice, preflight } from "@gridstride/cuda";
      const [variable, ...values] = Deno.args;
      for (const value of values) {
        Deno.env.set(variable, value);
        try {
          using device = openDevice();
          console.log(JSON.stringify({ value, name: "opened", message: device.label }));
        } catch ({ name, message, variable }) {
          const detected = await Promise.allSettled([detectBackends(), preflight()]);
          const rejections = detected.filter(({ reason }) => reason?.name === name).length;
          console.log(JSON.stringify({ value, name, message, variable, rejections }));
        }
      }
    `,
    {
      args: [variable, ...values],
      environment: { GRIDSTRIDE_FAKE: undefined, GRIDSTRIDE_DEVICE: undefined, ...environment },
    },
  );
  assertEquals([code, stderr], [0, ""]);
  return stdout.trimEnd().split("\n").map((line) => JSON.parse(line));
}

/** Refused values of a variable, and a text of their message. */
const REFUSED: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  GRIDSTRIDE_FAKE: {
    "": "empty",
    "4x24GB@": '"4x24GB@" is no device',
    "24GiB": "no device",
    "24GiB@9.9": "CAPABILITY must be one of",
    "0x24GiB@8.9": "no device",
    "-1x24GiB@8.9": "no device",
    "1.5x24GiB@8.9": "no device",
    "65x1GiB@8.9": "COUNT must be in 1..64",
    "2048GiB@8.9": "SIZE must be at most",
    "0GiB@8.9": "no device",
    "24GiB@8.9,": "no device",
    "24GiB@8.9,cuda": "does not mix",
    "cuda,vulkan": "no backend",
    "none,none": "does not mix",
    "NONE": "no device",
  },
  GRIDSTRIDE_DEVICE: {
    "": "cuda, host",
    "gpu": "cuda, host",
    "host:": "cuda, host",
    "host:-1": "cuda, host",
    "host:0x1": "cuda, host",
    "HOST": "cuda, host",
  },
  GRIDSTRIDE_STRICT: { "yes": "0 or 1", "2": "0 or 1" },
};

for (const [variable, values] of Object.entries(REFUSED)) {
  Deno.test(`openDevice() names a malformed ${variable}`, async () => {
    for (const outcome of await outcomes(variable, Object.keys(values))) {
      const { value, name, message } = outcome;
      assertEquals(
        [name, outcome.variable],
        ["EnvironmentError", variable],
        `${value}: ${message}`,
      );
      assertStringIncludes(message, `${variable}=${JSON.stringify(value)}`);
      assertStringIncludes(message, values[value]!);
      if (variable === "GRIDSTRIDE_FAKE") {
        assertEquals(outcome.rejections, 2, "detectBackends() and preflight() reject");
      }
    }
  });
}

Deno.test("openDevice() refuses every fake when GRIDSTRIDE_STRICT=1", async () => {
  const fakes = ["none", "24GiB@8.9", "cuda"];
  for (const outcome of await outcomes("GRIDSTRIDE_FAKE", fakes, { GRIDSTRIDE_STRICT: "1" })) {
    assertEquals([outcome.name, outcome.variable], ["EnvironmentError", "GRIDSTRIDE_FAKE"]);
    assertStringIncludes(outcome.message, "GRIDSTRIDE_STRICT=1");
    assertStringIncludes(outcome.message, JSON.stringify(outcome.value));
  }
});

Deno.test("listDevices() returns nothing when GRIDSTRIDE_FAKE=none", async () => {
  const { code, stdout } = await runProgram(
    `
      import { bestDevice, cudaAvailable, deviceCount, listDevices, openDevice } from "@gridstride/cuda";
      console.log(cudaAvailable(), deviceCount(), listDevices().length);
      for (const open of [
        () => openDevice(), () => openDevice("host"), () => openDevice("host:0"),
        () => openDevice("cuda"), () => openDevice("cuda:3"), () => bestDevice(),
      ]) {
        try {
          open();
        } catch ({ name, message }) {
          console.log(name, message);
        }
      }
    `,
    { environment: { GRIDSTRIDE_FAKE: "none" } },
  );
  const [state, ...errors] = stdout.trimEnd().split("\n");
  assertEquals([code, state, errors.length], [0, "false 0 0", 6]);
  for (const error of errors) {
    assert(
      /^NoDeviceError Cannot open a .*as there is none: GRIDSTRIDE_FAKE=none/.test(error),
      error,
    );
  }
});

Deno.test("openDevice() throws NoDeviceError with the range for an unknown ordinal", () => {
  const error = assertThrows(() => openDevice(`${kind}:99`), NoDeviceError);
  assertStringIncludes(error.message, `Cannot open ${kind}:99 as the ordinal must be in 0..`);
  assertStringIncludes(error.message, "it is 99");
});

Deno.test("openDevice() throws when GRIDSTRIDE_DEVICE names an absent device", async () => {
  const [outcome] = await outcomes("GRIDSTRIDE_DEVICE", ["host:77"]);
  assertEquals(outcome!.name, "NoDeviceError");
  assertStringIncludes(outcome!.message, "it is 77");
});

Deno.test("openDevice() throws RangeError with the grammar for a malformed selector", () => {
  const texts = ["", "gpu", "cuda:", "host:-1", "host:1.5", "host:00", "host:1000000"];
  const others = new Map<unknown, string>([[0, "0"], [null, "null"], [{}, "an Object"]]);
  for (const [value, shown] of [...texts.map((text) => [text, `"${text}"`] as const), ...others]) {
    const error = assertThrows(() => openDevice(value as string), RangeError);
    assertStringIncludes(error.message, "selector must be cuda, host");
    assertStringIncludes(error.message, `it is ${shown}`);
  }
});

Deno.test("bestDevice() chooses within a kind and refuses unknown kinds", () => {
  assertEquals(bestDevice(kind).info.kind, kind);
  for (const other of ["gpu", "", null, 1]) {
    const message = 'kind must be "cuda" or "host": it is';
    assertThrows(() => bestDevice(other as typeof kind), RangeError, message);
  }
});
