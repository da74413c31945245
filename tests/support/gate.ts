/**
 * Work that ends when a test says so, and not after a time: it is under way however slow the machine
 * is.
 *
 * @module
 */

import type { DeviceBuffer, Stream } from "../../mod.ts";
import { device } from "./device.ts";
import { replaceFunction } from "./replaced_function.ts";

// The limit ends what a failing test has left behind.
const module = await device.compile(`
  __global__ void pass(volatile int* gate, const void* used) {
    for (long long i = 0; i < 3000000000 && !*gate; i++) {}
  }
  __global__ void open(volatile int* gate) { *gate = 1; }`);
const pass = module.kernel("pass(volatile int* gate, const void* used)");
const open = module.kernel("open(volatile int* gate)");
const ONE_THREAD = { grid: 1, block: 1 };

// Made at its first use otherwise, which a test of resources takes for a leak.
void device.stream;

/** Holds streams up. The host device may have threads for only one closed gate and other work. */
export class Gate implements Disposable {
  readonly #opener = device.createStream();
  readonly #flag = device.allocate("int32", 1, { fill: 0, stream: this.#opener });
  #isOpen = false;

  constructor() {
    this.#opener.doneSync();
  }

  /** Later work of the stream waits for `open()`, and until then the stream uses the buffer. */
  close(stream: Stream, buffer: DeviceBuffer = this.#flag): void {
    pass.launch({ ...ONE_THREAD, stream }, this.#flag, buffer);
  }

  /** Lets the streams go on. */
  open(): void {
    if (this.#isOpen) return;
    this.#isOpen = true;
    open.launch({ ...ONE_THREAD, stream: this.#opener }, this.#flag);
  }

  /** Opens the gate when the program's thread is about to block for the device, an event or a stream. */
  openWhenBlocked(): Disposable {
    using stack = new DisposableStack();
    const waits = [
      "gs_device_synchronize",
      "gs_event_synchronize",
      "gs_stream_synchronize",
    ] as const;
    for (const name of waits) {
      stack.use(replaceFunction(device.context.library, name, (wait) => (handle) => {
        this.open();
        return wait(handle);
      }));
    }
    return stack.move();
  }

  [Symbol.dispose](): void {
    this.open();
    this.#flag.free();
    this.#opener[Symbol.dispose]();
  }
}
