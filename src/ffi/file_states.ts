/**
 * What the file system says of files, many at once.
 *
 * @module
 */

/** The numbers of each file: device, inode, size, times, mode and owner. */
export const STATE_SLOTS = 7;
/** Its size in bytes. */
export const STATE_BYTES = 2;
/** When its content was last changed, in milliseconds since 1970. */
export const STATE_MODIFIED = 3;
/** When its content, its owner or its permissions were, cut off to seconds. */
export const STATE_CHANGED = 4;
/** Its type and permissions, as `st_mode` has them. */
export const STATE_MODE = 5;
/** The user that it belongs to. */
export const STATE_OWNER = 6;

/** In place of every number of a file that is not there. */
export const ABSENT = -1;

/** Whether this process may read all paths without a prompt. */
export function mayReadAll(): boolean {
  const { state, partial } = Deno.permissions.querySync({ name: "read" });
  return state === "granted" && !partial;
}

/** How files are looked at. */
export interface LookOptions {
  /** Whether what a link leads to is looked at, or the link itself. */
  readonly followsLinks: boolean;
}

/**
 * The states of files: of each {@linkcode STATE_SLOTS} numbers, which are {@linkcode ABSENT} where
 * there is none. Nobody is prompted.
 *
 * @param paths Their paths.
 * @throws {Deno.errors.NotCapable} If one may not be read.
 * @throws {Error} What Deno throws where the state of one cannot be told.
 */
export function fileStates(
  paths: readonly string[],
  { followsLinks }: LookOptions,
): Float64Array<ArrayBuffer> {
  const states = new Float64Array(paths.length * STATE_SLOTS);
  const mayReadEach = mayReadAll();
  for (let index = 0; index < paths.length; index++) {
    const path = paths[index]!;
    if (!mayReadEach) requireReadable(path);
    states.set(stateOf(path, followsLinks), index * STATE_SLOTS);
  }
  return states;
}

/** Refuses a file that Deno would ask somebody for. */
function requireReadable(path: string): void {
  if (Deno.permissions.querySync({ name: "read", path }).state === "granted") return;
  throw new Deno.errors.NotCapable(`Cannot look at ${path} as reading it is not permitted`);
}

function stateOf(path: string, followsLinks: boolean): readonly number[] {
  try {
    const file = followsLinks ? Deno.statSync(path) : Deno.lstatSync(path);
    return [
      file.dev,
      file.ino ?? ABSENT,
      file.size,
      file.mtime?.getTime() ?? ABSENT,
      file.ctime?.getTime() ?? ABSENT,
      file.mode ?? ABSENT,
      file.uid ?? ABSENT,
    ];
  } catch (error) {
    const isAbsent = error instanceof Deno.errors.NotFound ||
      error instanceof Deno.errors.NotADirectory;
    if (isAbsent) return new Array<number>(STATE_SLOTS).fill(ABSENT);
    throw error;
  }
}
