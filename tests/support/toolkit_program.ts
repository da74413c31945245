/**
 * C++ programs over headers of the CUDA toolkit that need no more than a C++ compiler: oracles for
 * our own tables and calculations.
 *
 * @module
 */

import { toolkitHeaders } from "./cuda_toolkit.ts";
import { TemporaryDirectory } from "./temporary_file.ts";

/** The first C++ compiler that runs. */
function findCompiler(): string | undefined {
  return [Deno.env.get("CXX"), "g++", "clang++"].find((compiler) => {
    if (!compiler) return false;
    try {
      return new Deno.Command(compiler, { args: ["--version"] }).outputSync().success;
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) return false;
      throw error;
    }
  });
}

async function succeed(command: string, args: string[]): Promise<Uint8Array<ArrayBuffer>> {
  const { success, stdout, stderr } = await new Deno.Command(command, { args }).output();
  const text = new TextDecoder();
  if (!success) throw new Error(`${command} ${args.join(" ")}: ${text.decode(stderr)}`);
  return stdout;
}

/** A program that is compiled when it is run. */
export class ToolkitProgram {
  /** A suffix of the test's name with the reason for skipping it; empty if it can run. */
  readonly skipped: string;
  readonly #source: URL;
  readonly #headers: string | undefined;
  readonly #compiler: string | undefined;

  /** Looks for the header and a compiler. */
  constructor(source: URL, header: string) {
    this.#source = source;
    this.#headers = toolkitHeaders(header);
    this.#compiler = this.#headers === undefined ? undefined : findCompiler();
    this.skipped = this.#headers === undefined
      ? " (skipped: no CUDA toolkit)"
      : this.#compiler === undefined
      ? " (skipped: no C++ compiler)"
      : "";
  }

  /** Compiles it, runs it with each list of arguments, and returns the outputs. */
  async run(...runs: readonly (readonly string[])[]): Promise<Uint8Array<ArrayBuffer>[]> {
    using folder = new TemporaryDirectory();
    const program = `${folder.path}/program`;
    // C++ compilers warn about the toolkit's C headers.
    const options = ["-std=c++17", "-O1", "-w", "-isystem", this.#headers!];
    await succeed(this.#compiler!, [...options, this.#source.pathname, "-o", program]);
    const printed: Uint8Array<ArrayBuffer>[] = [];
    for (const args of runs) printed.push(await succeed(program, [...args]));
    return printed;
  }
}
