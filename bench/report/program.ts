/**
 * Runs the programs of `bench/programs/`, which print their measurements.
 *
 * @module
 */

/** How a program is run. */
export interface ProgramOptions {
  /** Its arguments. */
  readonly args?: readonly string[];
  /** Its environment variables in addition to those of this process. */
  readonly env?: Readonly<Record<string, string>>;
  /** Denied permissions, as options of Deno: `--deny-run`. */
  readonly denied?: readonly string[];
}

/**
 * Runs a program in a process of its own.
 *
 * @param name The program's name without `.ts`.
 * @returns Its output, read as JSON.
 * @throws {Error} If it fails.
 */
export async function runBenchProgram<Printed>(
  name: string,
  { args = [], env = {}, denied = [] }: ProgramOptions = {},
): Promise<Printed> {
  const program = new URL(`../programs/${name}.ts`, import.meta.url);
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", ...denied, "--quiet", "--no-check", program.href, ...args],
    env,
    stdin: "null",
  }).output();
  const decoder = new TextDecoder();
  if (!success) throw new Error(`Cannot measure ${program.pathname}: ${decoder.decode(stderr)}`);
  return JSON.parse(decoder.decode(stdout));
}
