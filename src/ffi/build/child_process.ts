/**
 * Starts programs also where the environment has variables of the dynamic loader.
 *
 * Deno starts a program with an `LD_*` or `DYLD_*` variable only under `--allow-run` without names,
 * because such a variable can run any code. Machines with CUDA usually set `LD_LIBRARY_PATH`. An
 * empty value counts as unset, to Deno and to the loader.
 *
 * @module
 */

const LOADER_VARIABLES = /\b(?:LD|DYLD)_\w+/g;

/** The messages of dynamic loaders about a missing library. */
const LOADER_FAILURE =
  /error while loading shared libraries|symbol lookup error|Library not loaded|GLIBCXX_\S+' not found/;

/** A program that runs. */
export interface StartedProgram {
  readonly child: Deno.ChildProcess;
  /** The loader's variables that Deno does not let it have. */
  readonly withheld: readonly string[];
}

/**
 * Starts a program, without the loader's variables if Deno refuses them.
 *
 * @throws {Deno.errors.NotCapable} If the program is not permitted.
 */
export function startProgram(program: string, options: Deno.CommandOptions): StartedProgram {
  try {
    return { child: new Deno.Command(program, options).spawn(), withheld: [] };
  } catch (error) {
    if (!(error instanceof Deno.errors.NotCapable)) throw error;
    const withheld = [...new Set(error.message.match(LOADER_VARIABLES) ?? [])];
    if (withheld.length === 0) throw error;
    const empty = Object.fromEntries(withheld.map((name) => [name, ""]));
    const env = { ...options.env, ...empty };
    return { child: new Deno.Command(program, { ...options, env }).spawn(), withheld };
  }
}

/** A line with the remedies for a program that failed for want of the withheld variables; or none. */
export function withheldText(withheld: readonly string[], output: string): string {
  if (withheld.length === 0 || !LOADER_FAILURE.test(output)) return "";
  return `It was started without ${withheld.join(", ")}, which Deno passes on only under ` +
    "--allow-run without names: run again with --allow-run, or install its libraries where the " +
    "system finds them\n";
}
