// The two readers of signatures, held against each other: TypeScript's types, in programs that are
// checked as a whole, and the parser at run time.

import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { signatureProgram } from "../../bench/support/signature_program.ts";
import { C_TYPES } from "../../src/launch/signature/c_types.ts";
import { type KernelParameter, parseSignature } from "../../src/launch/signature/signature.ts";
import { defineStruct } from "../../src/launch/signature/struct_type.ts";
import { VECTOR_SPELLINGS } from "../../src/launch/signature/c_types.ts";
import { repositoryPath, typeErrors } from "../support/subprocess.ts";

const Particle = defineStruct("Particle", { position: "float3", mass: "float" });
const Pair = defineStruct("math::Pair<float, 2>", { values: "float[2]" });
const STRUCTS = [Particle, Pair] as const;

// ---- Random signatures -------------------------------------------------------------------------

const blank = fc.constantFrom("", "", " ", "\n  ", "\t", "/* , ( */", " // ) , <\n");
const gap = fc.constantFrom(" ", " ", "  ", "\n", "/**/", " //\n");

const type = fc.oneof(
  fc.constantFrom(...Object.keys(C_TYPES)),
  fc.constantFrom(...VECTOR_SPELLINGS),
  fc.constantFrom("Particle", "struct Particle", "::Particle", "math::Pair<float, 2>"),
  fc.constantFrom("typename std::size_t", "math::Pair< float,2 >", "volatile float"),
);

const extent = fc.constantFrom("[]", "[4]", "[N * 2]", "[g(1, 2)]", "[N < 3][2]", "[a[b[0]]]");
const value = fc.constantFrom("", "", "", " = 3", "=max(1, 2)", " = {1, 2}", " = (a > b)");

const parameter = fc.tuple(
  type,
  fc.constantFrom("", "", "const before", "const behind"),
  fc.constantFrom("value", "pointer", "restrict", "array"),
  fc.constantFrom("", "[[maybe_unused]] ", "__align__(16) "),
  fc.boolean(),
  extent,
  value,
  gap,
  blank,
).map(([spelling, constness, kind, attribute, isNamed, size, byDefault, space, room]) => {
  const words = spelling.replaceAll(" ", space);
  const typed = constness === "const before"
    ? `const${space}${words}`
    : constness === "const behind"
    ? `${words}${space}const`
    : words;
  const declarator = { value: "", pointer: "*", restrict: "*__restrict__", array: "" }[kind];
  const name = isNamed ? "parameter_" : "";
  const behind = kind === "array" ? `${room}${size}` : "";
  return { text: `${attribute}${typed}${space}${declarator}`, name, behind: behind + byDefault };
});

const head = fc.constantFrom(
  ...["", "__global__ void ", 'extern "C"\n__global__ void ', "static __global__ void\t"],
  ...["__global__ void __launch_bounds__(256, g(2)) ", "[[nodiscard]] __global__ /* ( */ void "],
);
const name = fc.constantFrom(
  ...["f", "a::b::kernel", "::kernel", "tile<float, 32>", "f<g<int>, (1 > 0)>", "f<a << 2>"],
  ...["a<b>::c<(d < e), f<g<h>>>", "my_alignas", "tile <float,\n32>", "f<x[a > b]>"],
);

const signature = fc.tuple(
  head,
  name,
  fc.array(parameter, { maxLength: 6 }),
  blank,
  fc.constantFrom("", ";", " ;\n", " // end"),
).map(([before, own, parameters, room, tail]) => {
  const list = parameters.map(({ text, name, behind }, index) =>
    `${room}${text} ${name === "" ? "" : `${name}${index}`}${behind}`
  );
  return `${before}${own}${room}(${list.join(",")}${room})${tail}`;
});

/** A signature in which something is missing, doubled or somewhere else. */
const damaged = fc.tuple(signature, fc.nat(), fc.nat(), fc.constantFrom("cut", "double", "move"))
  .map(([text, from, to, what]) => {
    const pieces = text.split(/(\b|(?=[^\w]))/).filter((piece) => piece !== "");
    const [piece] = pieces.splice(from % pieces.length, what === "double" ? 0 : 1);
    const kept = what === "double" ? pieces[from % pieces.length]! : piece!;
    if (what !== "cut") pieces.splice(to % (pieces.length + 1), 0, kept);
    return pieces.join("");
  });

// ---- What the parser makes of them, as a program -----------------------------------------------

function scalarText(type: string): string {
  if (type === "bool") return "boolean";
  return type.endsWith("int64") ? "number | bigint" : "number";
}

function argumentText(parameter: KernelParameter): string {
  switch (parameter.kind) {
    case "scalar":
      return scalarText(parameter.type);
    case "vector": {
      const element = scalarText(parameter.type.element);
      return `readonly [${
        Array.from({ length: parameter.type.length }, () => element).join(", ")
      }]`;
    }
    case "struct":
      return parameter.type === Particle ? "ParticleValue" : "PairValue";
    case "pointer": {
      const memory = parameter.isConst ? "ReadonlyDeviceMemory" : "DeviceMemory";
      const dtype = parameter.dtype ? JSON.stringify(parameter.dtype) : "DType";
      return `${memory}<${dtype}> | null`;
    }
  }
}

function argumentsOf(text: string): string | undefined {
  try {
    return `[${parseSignature(text, STRUCTS).parameters.map(argumentText).join(", ")}]`;
  } catch (error) {
    assert(error instanceof SyntaxError, String(error));
    return undefined;
  }
}

function importOf(file: string, names: string): string {
  return `import { ${names} } from ${JSON.stringify(repositoryPath(`src/${file}`))};`;
}

/** A program that compiles if both readers agree on every text. */
function agreementProgram(texts: readonly (readonly [string, string])[]): string {
  return `// ${crypto.randomUUID()}
${importOf("launch/signature/signature_types.ts", "type KernelArguments, type ReadableSignature")}
${importOf("launch/signature/struct_type.ts", "defineStruct")}
${importOf("launch/signature/device_memory.ts", "type DeviceMemory, type ReadonlyDeviceMemory")}
${importOf("memory/dtype.ts", "type DType")}
const Particle = defineStruct("Particle", { position: "float3", mass: "float" });
const Pair = defineStruct("math::Pair<float, 2>", { values: "float[2]" });
type Structs = readonly [typeof Particle, typeof Pair];
type ParticleValue = Parameters<typeof Particle.encode>[0];
type PairValue = Parameters<typeof Pair.encode>[0];
type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends (<T>() => T extends B ? 1 : 2) ? true
  : false;
export type { DType, DeviceMemory, ParticleValue, PairValue, ReadonlyDeviceMemory };
function agree<const Text extends string, Expected>(
  _: Equal<KernelArguments<Text, Structs>, Expected> extends true ? ReadableSignature<Text, Structs>
    : KernelArguments<Text, Structs>,
): void {}
${
    texts.map(([text, expected]) => {
      const literal = JSON.stringify(text);
      return `agree<${literal}, ${expected}>(${literal});`;
    }).join("\n")
  }
`;
}

Deno.test("KernelArguments agrees with parseSignature() on random signatures, and reads 200 in one program", async () => {
  const written = fc.sample(signature, { numRuns: 150, seed: 4 });
  const readable = written.map((text) => [text, argumentsOf(text)] as const);
  // All but those that give a value to an array, say, or have a name twice, can be read.
  const unread = readable.filter(([, expected]) => expected === undefined);
  assertEquals(unread.map(([text]) => text), []);
  const broken = fc.sample(damaged, { numRuns: 600, seed: 4 })
    .map((text) => [text, argumentsOf(text)] as const);
  const all = [...readable, ...broken].flatMap(([text, expected]) =>
    expected === undefined ? [] : [[text, expected] as const]
  );
  assert(all.length > 250 && all.length < 700, `${all.length} can be read`);
  const many = signatureProgram(200);
  const programs = new Map([["agreement", agreementProgram(all)], ["signatures", many]]);
  assertEquals(await typeErrors(programs), "");
});
