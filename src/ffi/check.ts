/**
 * Calls of native functions: range checks before, exceptions after.
 *
 * @module
 */

import { checkInt32, checkSize } from "./arguments.ts";
import { DEVICE, OPERAND, STREAM } from "./command_block.ts";
import { CudaError } from "./cuda_error.ts";
import { cudaErrorCode } from "./error_codes.ts";
import { DECLARATIONS, type ParametersOf } from "./declarations.ts";
import type { NativeLibrary } from "./library.ts";

/** The circumstances of a call, for the message of an error. */
export interface FailureContext {
  /** The action, as in "Cannot <action>". */
  readonly action: string;
  readonly device?: number;
  /** The CUDA call of a nonblocking function: its failure is recorded on another thread. */
  readonly call?: string;
  /** Further information; by default the device's description of a fault. */
  readonly detail?: string;
}

const CAPACITY = -8;
const FIRST_CAPACITY = 512;
const LAST_CAPACITY = 1 << 20;

const decoder = new TextDecoder();
const encoder = new TextEncoder();

/**
 * Calls a function that writes text, with increasing buffers until the text fits.
 *
 * @param call Writes at most `capacity` bytes into `text` and returns a status.
 * @returns The last status and the text, which is empty unless the status is 0.
 */
export function readText(
  call: (text: Uint8Array<ArrayBuffer>, capacity: number) => number,
): { status: number; text: string } {
  for (let capacity = FIRST_CAPACITY;; capacity *= 4) {
    const bytes = new Uint8Array(capacity);
    const status = call(bytes, capacity);
    if (status === CAPACITY && capacity < LAST_CAPACITY) continue;
    if (status !== 0) return { status, text: "" };
    const end = bytes.indexOf(0);
    return { status, text: decoder.decode(bytes.subarray(0, end < 0 ? capacity : end)) };
  }
}

/** The NUL-terminated UTF-8 bytes of a text. */
export function cString(text: string): Uint8Array<ArrayBuffer> {
  if (text.includes("\0")) {
    throw new TypeError(`Cannot pass a text with a NUL character: it is ${JSON.stringify(text)}`);
  }
  return encoder.encode(text + "\0");
}

/** The CUDA call and the device of the last failure on this thread. */
function lastFailure({ result, symbols }: NativeLibrary): { call?: string; device?: number } {
  if (symbols.gs_error_last(result) !== 0) return {};
  const call = result[1]!;
  const device = result[2]!;
  const place = device < 0 ? {} : { device };
  if (call === 0) return place;
  const { status, text } = readText((bytes, capacity) =>
    symbols.gs_call_name(call, bytes, capacity)
  );
  return status === 0 ? { ...place, call: text } : place;
}

/**
 * The error for a status other than 0.
 *
 * @param status A positive CUDA code or a negative code of `csrc/gridstride_status.h`.
 */
export function statusError(
  library: NativeLibrary,
  status: number,
  context: FailureContext,
): CudaError {
  const place = context.call === undefined ? lastFailure(library) : context;
  const { call } = place;
  // An event or a stream may belong to another device than the caller's: then that one failed.
  const device = context.device === undefined ? undefined : place.device ?? context.device;
  const fault = (text: Uint8Array<ArrayBuffer>, capacity: number) =>
    library.symbols.gs_device_fault(device!, text, capacity);
  let detail = context.detail ?? (device === undefined ? "" : readText(fault).text);
  if (device !== undefined && cudaErrorCode(status).sticky) {
    const site = library.launchSites.get(device)?.(detail) ?? "";
    detail = [detail, site].filter((part) => part !== "").join("; ");
  }
  const error = new CudaError({
    action: context.action,
    code: status,
    ...(call === undefined ? {} : { call }),
    ...(device === undefined ? {} : { device: `${library.kind}:${device}` }),
    ...(detail === "" ? {} : { detail }),
  });
  if (error.sticky && device !== undefined && !library.lostDevices.has(device)) {
    library.lostDevices.add(device);
    library.interruptions++;
  }
  return error;
}

type Declarations = typeof DECLARATIONS;
type Name = keyof Declarations;
type AsyncName = Extract<Name, `${string}_async`>;

/** The arguments of a function without its trailing `result`, or `text` and `capacity`. */
type Inputs<N extends Name> = Declarations[N] extends
  `${infer Rest}, double* result` | `${infer Rest}, char* text, int32_t capacity`
  ? ParametersOf<Rest>
  : Declarations[N] extends "double* result" ? []
  : ParametersOf<Declarations[N]>;

/**
 * Checks the integers among the arguments of a function, by their C types. The FFI layer checks
 * them only until V8 has optimised a call: then 1.5 silently becomes 1, and 2^31 becomes -2^31.
 */
function checkedInputs(name: Name, action: string, inputs: readonly unknown[]): never[] {
  const parameters = DECLARATIONS[name].split(", ");
  return inputs.map((value, index) => {
    const [type, parameter = ""] = parameters[index]!.split(" ");
    if (type === "int32_t") return checkInt32(value as number, parameter, action);
    return type === "double" ? checkSize(value as number, parameter, action) : value;
  }) as never[];
}

/** Calls a function after checking its arguments, and returns the status. */
export function callStatus<N extends Exclude<Name, AsyncName>>(
  library: NativeLibrary,
  name: N,
  action: string,
  ...inputs: Inputs<N>
): number {
  const call = library.symbols[name] as (...values: unknown[]) => number;
  const values = checkedInputs(name, action, inputs);
  return DECLARATIONS[name].endsWith("double* result")
    ? call(...values, library.result)
    : call(...values);
}

/**
 * Calls a function after checking its arguments.
 *
 * @returns The results, until the next call.
 */
export function call<N extends Exclude<Name, AsyncName>>(
  library: NativeLibrary,
  name: N,
  context: FailureContext,
  ...inputs: Inputs<N>
): Float64Array<ArrayBuffer> {
  const status = callStatus(library, name, context.action, ...inputs);
  if (status !== 0) throw statusError(library, status, context);
  return library.result;
}

/** Calls a function that writes text after checking its arguments. */
export function callText<N extends Exclude<Name, AsyncName>>(
  library: NativeLibrary,
  name: N,
  action: string,
  ...inputs: Inputs<N>
): { status: number; text: string } {
  const call = library.symbols[name] as (...values: unknown[]) => number;
  const values = checkedInputs(name, action, inputs);
  return readText((bytes, capacity) => call(...values, bytes, capacity));
}

/** Calls a function on another thread after checking its arguments, and returns the status. */
export function callAsync<N extends AsyncName>(
  library: NativeLibrary,
  name: N,
  action: string,
  ...inputs: Inputs<N>
): Promise<number> {
  const call = library.symbols[name] as (...values: unknown[]) => Promise<number>;
  return call(...checkedInputs(name, action, inputs));
}

/** The calls of one function for one device that have not ended. */
interface Turns {
  last: Promise<number>;
  /** The calls that have not begun, by their arguments. */
  readonly queued: Map<string, Promise<number>>;
}

const turns = new WeakMap<NativeLibrary, Map<string, Turns>>();

/**
 * Calls a function on another thread, after its earlier calls for the same device: however many
 * are pending, they take one thread. Calls with equal arguments that have not begun are one call.
 */
export function callInTurn<N extends AsyncName>(
  library: NativeLibrary,
  name: N,
  action: string,
  device: number,
  ...inputs: Inputs<N>
): Promise<number> {
  let ofLibrary = turns.get(library);
  if (ofLibrary === undefined) turns.set(library, ofLibrary = new Map());
  const place = `${name} ${device}`;
  const inputText = inputs.join();
  const running = ofLibrary.get(place);
  const known = running?.queued.get(inputText);
  if (known !== undefined) return known;
  const queue = running ?? { last: Promise.resolve(0), queued: new Map() };
  const start = () => {
    queue.queued.delete(inputText);
    return callAsync(library, name, action, ...inputs);
  };
  const called = running === undefined ? start() : queue.last.then(start, start);
  if (running === undefined) ofLibrary.set(place, queue);
  else queue.queued.set(inputText, called);
  queue.last = called;
  const end = () => {
    if (queue.last === called) ofLibrary.delete(place);
  };
  called.then(end, end);
  return called;
}

/**
 * Writes operands into the command block, and returns the functions without parameters that read
 * them. V8 makes a call fast only at a place that always calls the same function: in the caller.
 */
export function withOperands(
  { block, symbols }: NativeLibrary,
  device: number,
  stream: number,
  first = 0,
  second = 0,
  third = 0,
  fourth = 0,
  fifth = 0,
  sixth = 0,
  seventh = 0,
): NativeLibrary["symbols"] {
  block[DEVICE] = device;
  block[STREAM] = stream;
  block[OPERAND] = first;
  block[OPERAND + 1] = second;
  block[OPERAND + 2] = third;
  block[OPERAND + 3] = fourth;
  block[OPERAND + 4] = fifth;
  block[OPERAND + 5] = sixth;
  block[OPERAND + 6] = seventh;
  return symbols;
}

/** Throws for any status but 0. */
export function check(
  library: NativeLibrary,
  status: number,
  action: string,
  device?: number,
): void {
  if (status === 0) return;
  throw statusError(library, status, device === undefined ? { action } : { action, device });
}
