/**
 * A program with many kernels' signatures, for what checking their types takes.
 *
 * @module
 */

const SIGNATURES = new URL("../../src/launch/signature/signature_types.ts", import.meta.url);
const STRUCTS = new URL("../../src/launch/signature/struct_type.ts", import.meta.url);

/** Types, and for each an argument that a parameter of it takes. */
const TYPES: readonly (readonly [string, string])[] = [
  ["float", "1.5"],
  ["const float*", "float32"],
  ["const float* __restrict__", "float32"],
  ["unsigned long long", "2n"],
  ["float4", "[1, 2, 3, 4]"],
  ["const int", "7"],
  ["const Particle*", "uint8"],
  ["size_t", "9"],
  ["bool", "true"],
  ["Particle", "{ position: [1, 2, 3], mass: 4 }"],
  ["__half*", "float16"],
  ["const float4 *", "float32"],
];

/** Ways to write a kernel's name and what stands before it. */
const HEADS: readonly ((name: string) => string)[] = [
  (name) => name,
  (name) => `__global__ void ${name}`,
  (name) => `extern "C" __global__ void __launch_bounds__(256, 2) ${name}`,
  (name) => `image::filters::${name}`,
  (name) => `${name}<float, 32, (4 > 2)>`,
];

/** Signature number `index`, different from all others, and its arguments. */
function declaration(index: number): { readonly signature: string; readonly args: string } {
  const count = 1 + index % 9;
  const parameters = Array.from(
    { length: count },
    (_, i) => TYPES[(index * 5 + i * 7) % TYPES.length]!,
  );
  const list = parameters.map(([type], i) => `${type} parameter_${i}`);
  const head = HEADS[index % HEADS.length]!(`kernel_${index}`);
  const text = index % 3 === 0
    ? `${head}(\\n  ${list.join(", // a comment\\n  ")}\\n)`
    : `${head}(${list.join(", ")})`;
  return { signature: text, args: parameters.map(([, argument]) => argument).join(", ") };
}

/**
 * The text of the program. Each is another one, as Deno remembers programs that it has checked.
 *
 * @param count How many signatures it has.
 */
export function signatureProgram(count: number): string {
  const lines = Array.from({ length: count }, (_, index) => {
    const { signature, args } = declaration(index);
    return `kernel(${JSON.stringify(signature).replaceAll("\\\\n", "\\n")}).launch(${args});`;
  });
  return `// ${crypto.randomUUID()}
import type { KernelArguments, ReadableSignature } from ${JSON.stringify(SIGNATURES.href)};
import { defineStruct } from ${JSON.stringify(STRUCTS.href)};
import type { DeviceMemory } from ${JSON.stringify(new URL("device_memory.ts", SIGNATURES).href)};

const Particle = defineStruct("Particle", { position: "float3", mass: "float" });
type Structs = readonly [typeof Particle];

declare function kernel<const Signature extends string>(
  signature: ReadableSignature<Signature, Structs>,
): { launch(...args: KernelArguments<Signature, Structs>): void };
declare const float32: DeviceMemory<"float32">;
declare const float16: DeviceMemory<"float16">;
declare const uint8: DeviceMemory<"uint8">;

${lines.join("\n")}
`;
}
