// Descriptions, bytes and types of structs. `deno check` of this file is part of the test:
// every `@ts-expect-error` fails it when the compiler accepts the line below.

import { assert, assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import {
  defineStruct,
  type StructFields,
  StructType,
} from "../../src/launch/signature/struct_type.ts";

const Particle = defineStruct("Particle", {
  position: "float3",
  mass: "float",
  id: "int",
  tail: "float[4]",
});
const Scene = defineStruct("scene::Scene", {
  on: "bool",
  first: Particle,
  others: [Particle, 2],
  count: "unsigned long long",
  grid: "short[2][3]",
  scale: "__half2",
  level: "__nv_fp8_e4m3",
});

const particle = { position: [1, 2, 3], mass: 4, id: -5, tail: [6, 7, 8, 9] } as const;
const scene = {
  on: true,
  first: particle,
  others: [{ ...particle, id: 1 }, { ...particle, id: 2 }],
  count: 2n ** 64n - 1n,
  grid: [[1, 2, 3], [-4, 5, 6]],
  scale: [0.5, -2],
  level: 448,
} as const;

function encoded(struct: StructType, value: object): Uint8Array {
  const bytes = new Uint8Array(struct.bytes).fill(0xaa);
  struct.encode(value, bytes);
  return bytes;
}

function refusal(struct: StructType, value: unknown): string {
  const problem = () => struct.encode(value as object, new Uint8Array(struct.bytes));
  const error = assertThrows(problem, Error);
  assert(error instanceof TypeError || error instanceof RangeError, String(error));
  return `${error.name}: ${error.message}`;
}

Deno.test("encode() writes little-endian bytes, zeros between; decode() reads them", () => {
  const bytes = encoded(defineStruct("S", { a: "char", b: "short", c: "int" }), {
    a: -1,
    b: 0x0203,
    c: 0x04050607,
  });
  assertEquals([...bytes], [0xff, 0, 3, 2, 7, 6, 5, 4]);
  assertEquals(Scene.decode(encoded(Scene, scene)), {
    ...scene,
    first: { ...particle, position: [1, 2, 3] },
  });
});

Deno.test("encode() writes at an offset and nowhere else", () => {
  const bytes = new Uint8Array(36 + 9).fill(0xaa);
  Particle.encode(particle, bytes, 5);
  assertEquals([...bytes.slice(0, 5), ...bytes.slice(41)], Array(9).fill(0xaa));
  assertEquals(Particle.decode(bytes, 5).tail, [6, 7, 8, 9]);
  for (const offset of [-1, 10, 0.5, NaN, 2 ** 60]) {
    assertThrows(() => Particle.encode(particle, bytes, offset), RangeError, "must lie in the 45");
    assertThrows(() => Particle.decode(bytes, offset), RangeError, "must lie in the 45");
  }
  const notBytes = new Float32Array(9) as unknown as Uint8Array;
  assertThrows(() => Particle.encode(particle, notBytes), TypeError, "must be a Uint8Array");
});

Deno.test("encode() names the wrong field, the allowed values and the value", () => {
  const [big, grid] = [{ ...scene, count: 2n ** 64n }, { ...scene, grid: [[1, 2, 3], [4, 5]] }];
  const refused: [StructType, unknown, string][] = [
    [
      Particle,
      { ...particle, id: 2 ** 31 },
      "RangeError: Cannot encode a Particle as its id must be " +
      "an integer in -2147483648..2147483647: it is 2147483648",
    ],
    [Particle, { ...particle, mass: "4" }, 'its mass must be a number: it is "4"'],
    [
      Particle,
      { ...particle, position: [1, 2, null] },
      "its position[2] must be a number: it is null",
    ],
    [
      Particle,
      { ...particle, speed: 1 },
      "its speed must be absent, as Particle has no such field",
    ],
    [Particle, [1, 2], "it must be an object with the fields of Particle: it is [1, 2]"],
    [Scene, big, "RangeError: Cannot encode a scene::Scene as its count must be an integer in 0.."],
    [Scene, { ...scene, count: 2 ** 53 }, "beyond 9007199254740991 as a bigint"],
    [Scene, { ...scene, on: 1 }, "its on must be a boolean: it is 1"],
    [Scene, grid, "its grid[1].length must be that of an array of 3: it is 2"],
    [Scene, { ...scene, others: [particle, {}] }, "its others[1].position must be an array of 3"],
  ];
  for (const [struct, value, part] of refused) {
    const message = refusal(struct, value);
    assert(message.includes(part), message);
  }
});

Deno.test("defineStruct() refuses invalid names, fields and alignments", () => {
  const define = (name: unknown, fields: unknown, options = {}) =>
    new StructType(name as string, fields as StructFields, options);
  const refused: [() => unknown, typeof TypeError | typeof RangeError, string][] = [
    [() => define("", {}), TypeError, 'must be one of C++, such as "Particle": it is ""'],
    [() => define(4, {}), TypeError, "it is 4"],
    [() => define("S", null), TypeError, "its fields must be an object: they are null"],
    [() => define("S", ["float"]), TypeError, 'must be an object: they are ["float"]'],
    [() => define("S", { a: "flot" }), TypeError, "struct S as field a must be a type such as"],
    [() => define("S", { a: "float*" }), TypeError, "must be no pointer"],
    [() => define("S", { a: "float[n]" }), TypeError, '"float[n]"'],
    [() => define("S", { a: [Particle] }), TypeError, "[struct, count]: it is an Array"],
    [() => define("S", { a: [Particle, 0] }), RangeError, "at least one element: it is 0"],
    [() => define("S", { a: "float[0]" }), RangeError, "at least one element"],
    [() => define("S", { a: "float[99999999]" }), RangeError, "must end within 16777216 bytes"],
    [() => define("S", { "a b": "float" }), TypeError, "must have a name that C++ allows"],
    [() => define("S", { ["__proto__"]: "float" }), TypeError, "must have a name"],
    [() => define("S", {}, { alignment: 3 }), RangeError, "a power of two up to 256: it is 3"],
    [() => define("S", {}, { alignment: 512 }), RangeError, "it is 512"],
  ];
  for (const [attempt, ErrorClass, part] of refused) assertThrows(attempt, ErrorClass, part);
});

Deno.test("encode() takes any value or throws an error that names the struct", () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...Object.keys(scene)),
      fc.anything({ withBigInt: true, withTypedArray: true }),
      (field, value) => {
        const bytes = new Uint8Array(Scene.bytes);
        try {
          Scene.encode({ ...scene, [field]: value } as typeof scene, bytes);
          Scene.decode(bytes);
        } catch (error) {
          assert(error instanceof TypeError || error instanceof RangeError, String(error));
          assert(error.message.startsWith("Cannot encode a scene::Scene as it"), error.message);
        }
      },
    ),
    { numRuns: 1000 },
  );
});

Deno.test("StructType types values by the fields", () => {
  const bytes = new Uint8Array(Scene.bytes);
  Scene.encode(scene, bytes);
  const count: bigint = Scene.decode(bytes).count;
  const mass: number = Scene.decode(bytes).others[1]!.mass;
  const cell: number = Scene.decode(bytes).grid[1]![0]!;
  assertEquals([count, mass, cell], [2n ** 64n - 1n, 4, -4]);
  const wrong = () => {
    // @ts-expect-error A field is missing.
    Particle.encode({ position: [1, 2, 3], mass: 4, id: 5 }, bytes);
    // @ts-expect-error A vector of two where float3 stands.
    Particle.encode({ ...particle, position: [1, 2] }, bytes);
    // @ts-expect-error A bigint where int stands.
    Particle.encode({ ...particle, id: 5n }, bytes);
    // @ts-expect-error A text where float stands.
    Particle.encode({ ...particle, mass: "4" }, bytes);
    // @ts-expect-error A number where bool stands.
    Scene.encode({ ...scene, on: 1 }, bytes);
    // @ts-expect-error A field that is not there.
    Scene.decode(bytes).colour;
  };
  assertThrows(wrong, TypeError, "its tail must be");
});

Deno.test("defineStruct() rejects invalid fields at their place", () => {
  // @ts-expect-error flot is no type.
  assertThrows(() => defineStruct("S", { a: "flot" }), TypeError);
  // @ts-expect-error A pointer is no field.
  assertThrows(() => defineStruct("S", { a: "const float*" }), TypeError);
  // Fields that are no literals are checked at run time.
  const read: Record<string, string> = JSON.parse('{ "a": "float", "b": "double" }');
  assertEquals(defineStruct("S", read).bytes, 16);
});
