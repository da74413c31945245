/**
 * What random calls of the C ABI name: handles and addresses, live, stale and of two devices.
 *
 * @module
 */

import { DEVICE, OPERAND, RESULT, STREAM } from "../../src/ffi/command_block.ts";
import type { NativeSymbols } from "../../src/ffi/declarations.ts";
import type { NativeLibrary } from "../../src/ffi/library.ts";
import { cString } from "../../src/ffi/check.ts";

/** Kinds of handles that are destroyed. */
const DESTROYED_KINDS = [
  "stream",
  "event",
  "pinned",
  "file",
  "lifeline",
  "graph",
  "module",
  "program",
  "waiter",
] as const;

/** Kinds of handles. Kernels end with their module. */
export type HandleKind = typeof DESTROYED_KINDS[number] | "kernel";

function forEachKind<T>(make: () => T): Readonly<Record<HandleKind, T>> {
  const kinds: readonly HandleKind[] = [...DESTROYED_KINDS, "kernel"];
  return Object.fromEntries(kinds.map((kind) => [kind, make()])) as Record<HandleKind, T>;
}

/** Kinds and sizes of the parameters of the kernel `store_int` in the stage's machine code. */
export const STORE_PARAMETERS: readonly (readonly number[])[] = [[1, 4], [7, 8]];

/** Device memory that was allocated, and perhaps is not any more. */
export interface MemoryBlock {
  /** The device it lies on. */
  readonly device: number;
  /** Its first byte. */
  readonly address: number;
  /** Its size. */
  readonly bytes: number;
}

/** Sizes of the memory blocks on each device; none is larger. */
const SIZES: readonly number[] = [1, 100, 4096, 65536, 2 ** 20];

/** Addresses reserved on a device, of which memory may be mapped at some. */
export interface AddressRange {
  /** The device they were reserved for. */
  readonly device: number;
  /** The first. */
  readonly address: number;
}

/** Pages of each reservation. */
const RESERVED_PAGES = 12;

/** Of these the first are mapped, in pieces of two, in one of a device's two reservations. */
const MAPPED_PAGES = 5;

/** A file that can be opened, of some thousand bytes. */
export const FILE: string = new URL(import.meta.url).pathname;

/** The size of a slab that can be pinned. */
export const SLAB_BYTES = 65536;

/** More bytes than any memory block has: what calls that copy from or to JavaScript are lent. */
export const SCRATCH_BYTES = 2 ** 21;

/** Pages that stay mapped throughout. */
const slabs = Array.from({ length: 4 }, () => {
  const { buffer } = new WebAssembly.Memory({ initial: 1, maximum: 1 });
  return new Uint8Array(buffer as ArrayBuffer);
});

/** Two devices and their resources. */
export class AbiStage {
  /** The library. */
  readonly library: NativeLibrary;
  /** The two devices. */
  readonly devices: readonly [number, number];
  /** What mapped memory comes in multiples of, in bytes. */
  readonly page: number;
  /** JavaScript memory that calls may read and write. */
  readonly scratch: Uint8Array<ArrayBuffer> = new Uint8Array(SCRATCH_BYTES);
  /** Machine code of `tests/native/module_kernels.cu`. */
  readonly image: Uint8Array<ArrayBuffer>;
  readonly #live = forEachKind(() => new Set<number>());
  readonly #known = forEachKind((): number[] => []);
  readonly #memory = new Map<number, MemoryBlock>();
  readonly #knownMemory: MemoryBlock[] = [];
  readonly #reservations = new Map<number, AddressRange>();
  readonly #knownReservations: AddressRange[] = [];
  readonly #pieces = new Map<number, MemoryBlock>();

  /** Makes some of everything on two devices; destroys one of each again. */
  constructor(
    library: NativeLibrary,
    devices: readonly [number, number],
    image: Uint8Array<ArrayBuffer>,
  ) {
    this.library = library;
    this.devices = devices;
    this.image = image;
    const { symbols, result } = library;
    this.#expect(symbols.gs_virtual_granularity(devices[0], result), "read the granularity");
    this.page = result[0]!;
    for (const device of devices) {
      this.#expect(symbols.gs_device_open(device), "open a device");
      for (const bytes of SIZES) this.#allocate(device, bytes);
      for (const timing of [0, 1, 1]) {
        this.#expect(symbols.gs_event_create(device, timing, result), "create an event");
        this.created("event", result[0]!);
      }
      for (const priority of [0, -1]) {
        this.#expect(symbols.gs_stream_create(device, priority, result), "create a stream");
        this.created("stream", result[0]!);
        this.#capture(device, result[0]!);
      }
    }
    for (const device of devices) {
      this.#map(device, this.#reserve(device));
      this.#reserve(device);
    }
    for (const slab of slabs.slice(0, 2)) {
      this.#expect(symbols.gs_pinned_register(devices[0], slab, SLAB_BYTES, result), "pin a slab");
      this.created("pinned", result[0]!);
    }
    for (let file = 0; file < 2; file++) {
      this.#expect(symbols.gs_file_open(cString(FILE), result), "open a file");
      this.created("file", result[0]!);
      this.#expect(symbols.gs_lifeline_open(result), "open a lifeline");
      this.created("lifeline", result[0]!);
    }
    for (const device of [...devices, devices[0]]) this.#load(device);
    for (let program = 0; program < 2; program++) this.#makeProgram();
    for (let waiter = 0; waiter < 2; waiter++) {
      this.#expect(symbols.gs_waiter_create(result), "create a waiter");
      this.created("waiter", result[0]!);
    }
    this.#destroyOneOfEach();
  }

  #expect(status: number, action: string): void {
    if (status !== 0) throw new Error(`The stage cannot ${action}: status ${status}`);
  }

  #allocate(device: number, bytes: number): void {
    const { block, symbols } = this.library;
    block[DEVICE] = device;
    block[OPERAND] = bytes;
    this.#expect(symbols.gs_memory_allocate(), "allocate");
    this.allocated({ device, address: block[RESULT]!, bytes });
  }

  #reserve(device: number): number {
    const { symbols, result } = this.library;
    const status = symbols.gs_virtual_reserve(device, RESERVED_PAGES * this.page, result);
    this.#expect(status, "reserve addresses");
    const address = result[0]!;
    this.reserved({ device, address });
    return address;
  }

  #map(device: number, address: number): void {
    const { block, symbols } = this.library;
    const bytes = MAPPED_PAGES * this.page;
    block[DEVICE] = device;
    block.set([address, bytes, 2 * this.page], OPERAND);
    this.#expect(symbols.gs_virtual_map(), "map memory");
    this.mapped({ device, address, bytes }, 2 * this.page);
  }

  /** Loads a module and finds its kernel that stores a number. */
  #load(device: number): void {
    const { symbols, result } = this.library;
    const created = symbols.gs_module_create(device, this.image, this.image.byteLength, result);
    this.#expect(created, "make a module");
    const module = result[0]!;
    this.created("module", module);
    this.#expect(symbols.gs_module_load(module), "load a module");
    const parameters = Int32Array.from(STORE_PARAMETERS.flat());
    const found = symbols.gs_module_kernel(module, cString("store_int"), parameters, 2, result);
    this.#expect(found, "find a module's kernel");
    this.created("kernel", result[0]!);
  }

  #makeProgram(): void {
    const { symbols, result } = this.library;
    const texts = new TextEncoder().encode("source\0name\0");
    const status = symbols.gs_nvrtc_create(texts, texts.byteLength, 0, 0, 0, result);
    this.#expect(status, "make a program");
    this.created("program", result[0]!);
  }

  /** Captures work on the largest memory block of the device. */
  #capture(device: number, stream: number): void {
    const { block, symbols, result } = this.library;
    const { address, bytes } = this.#knownMemory.at(-1)!;
    this.#expect(symbols.gs_stream_capture(stream, 1), "capture a stream");
    block.set([device, stream, address, 7, 1, bytes], DEVICE);
    this.#expect(symbols.gs_memory_set(), "set memory");
    this.#expect(symbols.gs_stream_capture_end(stream, result), "end a capture");
    this.created("graph", result[0]!);
  }

  /** Ends all captures: no wait is allowed before. */
  endCaptures(): void {
    const { symbols, result } = this.library;
    for (const stream of this.#live.stream) {
      if (symbols.gs_stream_capture_end(stream, result) === 0) this.created("graph", result[0]!);
    }
  }

  #destroyOneOfEach(): void {
    const { symbols } = this.library;
    const destroy: {
      readonly [Kind in typeof DESTROYED_KINDS[number]]: (handle: number) => number;
    } = {
      stream: symbols.gs_stream_destroy,
      event: symbols.gs_event_destroy,
      pinned: symbols.gs_pinned_release,
      file: symbols.gs_file_close,
      lifeline: symbols.gs_lifeline_end,
      graph: symbols.gs_graph_destroy,
      module: symbols.gs_module_destroy,
      program: symbols.gs_nvrtc_destroy,
      waiter: symbols.gs_waiter_destroy,
    };
    for (const kind of DESTROYED_KINDS) {
      const handle = this.#known[kind].at(-1)!;
      this.#expect(destroy[kind](handle), `destroy a ${kind}`);
      this.destroyed(kind, handle);
    }
    this.#free([...this.#memory.values()].find(({ bytes }) => bytes === 4096)!);
  }

  #free({ device, address }: MemoryBlock): number {
    const { block, symbols } = this.library;
    block[DEVICE] = device;
    block[OPERAND] = address;
    const status = symbols.gs_memory_free();
    if (status === 0) this.freed(address);
    return status;
  }

  /** A handle, live or stale. */
  handle(kind: HandleKind, index: number): number {
    const known = this.#known[kind];
    return known[index % known.length]!;
  }

  /** A memory block, live or stale. */
  memory(index: number): MemoryBlock {
    return this.#knownMemory[index % this.#knownMemory.length]!;
  }

  /** Reserved addresses, perhaps released again. */
  reservation(index: number): AddressRange {
    return this.#knownReservations[index % this.#knownReservations.length]!;
  }

  /** A slab of pages. */
  slab(index: number): Uint8Array<ArrayBuffer> {
    return slabs[index % slabs.length]!;
  }

  /** Remembers a handle that a call returned. */
  created(kind: HandleKind, handle: number): void {
    this.#live[kind].add(handle);
    this.#known[kind].push(handle);
  }

  /** Remembers that a handle is gone. */
  destroyed(kind: HandleKind, handle: number): void {
    this.#live[kind].delete(handle);
  }

  /** Remembers memory that a call returned. */
  allocated(memory: MemoryBlock): void {
    this.#memory.set(memory.address, memory);
    this.#knownMemory.push(memory);
  }

  /** Remembers that memory is gone. */
  freed(address: number): void {
    this.#memory.delete(address);
  }

  /** Remembers addresses that a call reserved. */
  reserved(range: AddressRange): void {
    this.#reservations.set(range.address, range);
    this.#knownReservations.push(range);
  }

  /** Remembers that addresses were released. */
  released(address: number): void {
    this.#reservations.delete(address);
  }

  /** Remembers memory that was mapped in pieces. */
  mapped({ device, address, bytes }: MemoryBlock, pieceBytes: number): void {
    for (let offset = 0; offset < bytes; offset += pieceBytes) {
      const piece = {
        device,
        address: address + offset,
        bytes: Math.min(pieceBytes, bytes - offset),
      };
      this.#pieces.set(piece.address, piece);
    }
    this.#knownMemory.push({ device, address, bytes });
  }

  /** Remembers that memory was unmapped. */
  unmapped(address: number, bytes: number): void {
    for (const piece of [...this.#pieces.keys()]) {
      if (piece >= address && piece < address + bytes) this.#pieces.delete(piece);
    }
  }

  #unmap({ device, address, bytes }: MemoryBlock): number {
    const { block, symbols } = this.library;
    block[DEVICE] = device;
    block.set([address, bytes], OPERAND);
    return symbols.gs_virtual_unmap();
  }

  /** Gives everything back; returns the statuses of what failed. */
  close(): number[] {
    const { symbols } = this.library;
    const statuses = [
      ...[...this.#live.waiter].map((handle) => symbols.gs_waiter_destroy(handle)),
      ...[...this.#live.graph].map((handle) => symbols.gs_graph_destroy(handle)),
      ...[...this.#live.module].map((handle) => symbols.gs_module_destroy(handle)),
      ...[...this.#live.program].map((handle) => symbols.gs_nvrtc_destroy(handle)),
      ...[...this.#live.event].map((handle) => symbols.gs_event_destroy(handle)),
      ...[...this.#live.stream].map((handle) => symbols.gs_stream_destroy(handle)),
      ...[...this.#live.pinned].map((handle) => symbols.gs_pinned_release(handle)),
      ...[...this.#live.file].map((handle) => symbols.gs_file_close(handle)),
      ...[...this.#live.lifeline].map((handle) => symbols.gs_lifeline_end(handle)),
      ...[...this.#memory.values()].map((memory) => this.#free(memory)),
      ...[...this.#pieces.values()].map((piece) => this.#unmap(piece)),
      ...[...this.#reservations.values()].map(({ device, address }) =>
        symbols.gs_virtual_release(device, address)
      ),
    ];
    return statuses.filter((status) => status !== 0);
  }

  /** The devices that no fault has made unusable. */
  get usableDevices(): readonly number[] {
    const { symbols, result } = this.library;
    return this.devices.filter((device) => symbols.gs_device_memory(device, result) === 0);
  }

  /** Sets, computes and reads on a device; throws if a result is wrong. */
  checkHealth(device: number, addKernel: number): void {
    const { block, symbols, result } = this.library;
    const count = 1000;
    this.#allocate(device, 4 * count);
    const { address } = this.#knownMemory.at(-1)!;
    this.#expect(symbols.gs_stream_create(device, 0, result), "create a stream");
    const stream = result[0]!;
    block.fill(0);
    block.set([device, stream, address, 21, 4, count], DEVICE);
    this.#expect(symbols.gs_memory_set(), "set memory");
    block.set([device, stream, addKernel, 4, 1, 1, 256, 1, 1, 0, 4, 0, 0], DEVICE);
    block.set([address, address, address, count], OPERAND + 14);
    this.#expect(symbols.gs_kernel_launch(), "launch add_int32");
    const read = new Int32Array(count);
    const { byteLength } = read;
    this.#expect(symbols.gs_copy_to_host(device, stream, read, address, byteLength), "read");
    const wrong = read.findIndex((element) => element !== 42);
    if (wrong >= 0) throw new Error(`Device ${device} computed ${read[wrong]} and not 42`);
    this.#expect(symbols.gs_stream_destroy(stream), "destroy a stream");
    this.#expect(this.#free({ device, address, bytes: byteLength }), "free");
    block[STREAM] = 0;
  }
}

/** Names of the functions that the FFI layer binds a second time, as nonblocking. */
export function nonblockingNames(symbols: NativeSymbols): string[] {
  return Object.keys(symbols).filter((name) => name.endsWith("_async"));
}
