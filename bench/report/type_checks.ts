/**
 * What TypeScript takes to read signatures of kernels, each sample from a process of its own.
 *
 * @module
 */

import { signatureProgram } from "../support/signature_program.ts";
import { type Figure, figureOf } from "./figure.ts";

/** How many different signatures are checked. */
const SIGNATURES = 200;

/** Checks a program and returns how long that took, in nanoseconds. */
async function checkingTime(program: string): Promise<number> {
  const file = await Deno.makeTempFile({ suffix: ".ts" });
  try {
    await Deno.writeTextFile(file, program);
    const config = new URL("../../deno.json", import.meta.url).pathname;
    const start = performance.now();
    const { success, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["check", "--quiet", `--config=${config}`, file],
      stdin: "null",
    }).output();
    const milliseconds = performance.now() - start;
    if (success) return milliseconds * 1e6;
    throw new Error(`Cannot check the program: ${new TextDecoder().decode(stderr)}`);
  } finally {
    await Deno.remove(file);
  }
}

/**
 * Measures checking the types of a program with 200 different signatures, beside one with none:
 * what both have in common is the start of the compiler.
 *
 * @param processes How often each.
 */
export async function measureTypeChecks(processes: number): Promise<Figure[]> {
  const none: number[] = [];
  const many: number[] = [];
  for (let i = 0; i < processes; i++) {
    none.push(await checkingTime(signatureProgram(0)));
    many.push(await checkingTime(signatureProgram(SIGNATURES)));
  }
  const named = { area: "signature", group: "deno check of a program", bytes: null };
  return [
    figureOf({ ...named, title: "no signatures", baseline: true }, none),
    figureOf({ ...named, title: `${SIGNATURES} different signatures`, baseline: false }, many),
  ];
}
