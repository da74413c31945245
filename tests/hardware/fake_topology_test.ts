// The grammar of GRIDSTRIDE_FAKE, and its errors.

import { assert, assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { KNOWN_CAPABILITIES } from "../../src/hardware/capability_limits.ts";
import { EnvironmentError } from "../../src/ffi/granted_environment.ts";
import { BACKENDS, fakeDevices, parseFakeSetting } from "../../src/hardware/fake_topology.ts";

const GIB = 2 ** 30;

Deno.test("`parseFakeSetting()` reads a uniform topology", () => {
  const device = { totalMemory: 25769803776, computeCapability: "8.9" };
  assertEquals(parseFakeSetting("4x24GiB@8.9"), {
    kind: "topology",
    devices: [device, device, device, device],
  });
});

Deno.test("`parseFakeSetting()` reads a mixed topology in order", () => {
  assertEquals(parseFakeSetting("24GiB@8.9,2x80GiB@9.0,512MiB@12.1"), {
    kind: "topology",
    devices: [
      { totalMemory: 24 * GIB, computeCapability: "8.9" },
      { totalMemory: 80 * GIB, computeCapability: "9.0" },
      { totalMemory: 80 * GIB, computeCapability: "9.0" },
      { totalMemory: GIB / 2, computeCapability: "12.1" },
    ],
  });
});

Deno.test("`parseFakeSetting()` puts devices between semicolons on boards", () => {
  const devices = fakeDevices(parseFakeSetting("2x24GiB@8.9;24GiB@8.9,80GiB@9.0"));
  assertEquals(devices.map(({ board }) => board), [0, 0, 1, 1]);
});

Deno.test("`parseFakeSetting()` reads none and backends", () => {
  assertEquals(parseFakeSetting("none"), { kind: "none" });
  assertEquals(parseFakeSetting("cuda"), { kind: "backends", backends: ["cuda"] });
  assertEquals(parseFakeSetting("webgpu,cuda"), { kind: "backends", backends: ["webgpu", "cuda"] });
});

Deno.test("`parseFakeSetting()` accepts the largest count and size and throws beyond", () => {
  const count = (value: string) => fakeDevices(parseFakeSetting(value)).length;
  assertEquals(count("1x1MiB@7.5"), 1);
  assertEquals(count("64x1MiB@7.5"), 64);
  assertEquals(count("63x1MiB@7.5,1GiB@8.0"), 64);
  assertEquals(count("1024GiB@9.0"), 1);
  assertEquals(count("1048576MiB@9.0"), 1);
  const refused = ["65x1MiB@7.5", "64x1MiB@7.5,1GiB@8.0", "1025GiB@9.0", "1048577MiB@9.0"];
  for (const value of refused) assertThrows(() => parseFakeSetting(value), EnvironmentError);
});

// The errors of malformed values.
const MALFORMED: readonly (readonly [value: string, offence: string])[] = [
  ["", "it is empty"],
  ["4x24GB@", '"4x24GB@" is no device'],
  ["24GiB", '"24GiB" is no device'],
  ["0x24GiB@8.9", "is no device"],
  ["0GiB@8.9", "is no device"],
  ["1e3GiB@8.9", "is no device"],
  ["24GiB@8.9 ", "is no device"],
  ["24GiB@8.9,", '"" is no device'],
  ["24GiB@8.9;", '"" is no device'],
  ["cuda;cuda", '"cuda" does not mix'],
  ["24GiB@8.9,,24GiB@8.9", '"" is no device'],
  ["24GiB@89", "is no device"],
  ["24GiB@7.0", "CAPABILITY must be one of 7.5, 8.0"],
  ["24GiB@08.9", "CAPABILITY must be one of"],
  ["99999999999999999999GiB@8.9", "SIZE must be at most"],
  ["99999999999999999999x1GiB@8.9", "COUNT must be in 1..64"],
  ["none,cuda", '"none" does not mix'],
  ["cuda,none", '"none" is no backend'],
  ["24GiB@8.9,cuda", '"cuda" does not mix'],
  ["cuda,24GiB@8.9", '"24GiB@8.9" is no backend'],
  ["cuda,cuda", '"cuda" comes twice'],
  ["cuda,", '"" is no backend'],
  ["gpu", '"gpu" is no device'],
  ["24GiB@8.9\n", "is no device"],
];

for (const [value, offence] of MALFORMED) {
  Deno.test(`parseFakeSetting() refuses ${JSON.stringify(value)}`, () => {
    const error = assertThrows(() => parseFakeSetting(value), EnvironmentError);
    assert(error.message.includes(offence), error.message);
    assert(error.message.startsWith("Cannot use GRIDSTRIDE_FAKE="), error.message);
    assert(error.message.includes("allowed is none, or [COUNTx]SIZE(GiB|MiB)@CAPABILITY"));
    assertEquals([error.variable, error.value], ["GRIDSTRIDE_FAKE", value]);
  });
}

const item = fc.record({
  count: fc.option(fc.integer({ min: 1, max: 8 }), { nil: undefined }),
  size: fc.integer({ min: 1, max: 1024 }),
  unit: fc.constantFrom("GiB", "MiB"),
  capability: fc.constantFrom(...KNOWN_CAPABILITIES),
});

Deno.test("`parseFakeSetting()` reads any topology that follows the grammar", () => {
  fc.assert(fc.property(fc.array(item, { minLength: 1, maxLength: 8 }), (items) => {
    const text = items.map(({ count, size, unit, capability }) =>
      `${count === undefined ? "" : `${count}x`}${size}${unit}@${capability}`
    ).join(",");
    const expected = items.flatMap(({ count = 1, size, unit, capability }) =>
      Array.from({ length: count }, () => ({
        totalMemory: size * (unit === "GiB" ? GIB : 2 ** 20),
        computeCapability: capability,
      }))
    );
    assertEquals([...fakeDevices(parseFakeSetting(text))], expected);
  }));
});

Deno.test("`parseFakeSetting()` throws EnvironmentError or returns a usable setting", () => {
  const alphabet = fc.constantFrom(..."0123456789xGMiB@.,", "none", "cuda", "4x24GiB@8.9");
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.string({ unit: alphabet, maxLength: 12 })), (text) => {
      let devices;
      try {
        devices = fakeDevices(parseFakeSetting(text));
      } catch (error) {
        assert(error instanceof EnvironmentError, String(error));
        return;
      }
      assert(devices.length <= 64);
      for (const { totalMemory, computeCapability } of devices) {
        assert(Number.isSafeInteger(totalMemory) && totalMemory > 0);
        assert(KNOWN_CAPABILITIES.includes(computeCapability));
      }
    }),
    { numRuns: 2000 },
  );
});

Deno.test("`fakeDevices()` adds one device of 16 GiB and 8.9 for the backend cuda only", () => {
  for (const backend of BACKENDS) {
    const devices = fakeDevices(parseFakeSetting(backend));
    const expected = backend === "cuda"
      ? [{ totalMemory: 17179869184, computeCapability: "8.9" }]
      : [];
    assertEquals([...devices], expected);
  }
  assertEquals([...fakeDevices({ kind: "none" })], []);
});
