/**
 * Frees memory that a kernel is about to write to, gives it back to the device, and prints as JSON
 * what became of the device: with the events as they are, and with an upstream that says of each
 * event that it has been reached. Started by `stream_reuse_test.ts` with two fake devices.
 *
 * @module
 */

import { CudaError, type Device, openDevice, type Stream } from "../../../../mod.ts";
import { bufferFromPool, type DeviceBuffer } from "../../../../src/memory/device_buffer.ts";
import { NativeUpstream } from "../../../../src/memory/pool/native_upstream.ts";
import { BlockPool } from "../../../../src/memory/pool/block_pool.ts";
import { poolSettings } from "../model/pool_settings.ts";

const SECONDS = 0.1;
const LENGTH = 2 ** 20;

/** An upstream with events that are reached too early. */
class EarlyUpstream extends NativeUpstream {
  override queryEvent(): boolean {
    return true;
  }
}

function spin(device: Device, buffer: DeviceBuffer<"float32">, stream: Stream): void {
  device.kernels.load("spin_float32(float* out, unsigned long long nanoseconds, float value)")
    .launch({ grid: 1, block: 1, stream }, buffer, SECONDS * 1e9, 1);
}

async function play(device: Device, upstream: NativeUpstream, virtualMemory: boolean) {
  const core = new BlockPool(upstream, poolSettings({ virtualMemory, limitBytes: 2 ** 26 }));
  const stream = device.createStream();
  const options = { stream };
  const buffer = bufferFromPool(core, device.context, "float32", LENGTH, options);
  spin(device, buffer, stream);
  buffer.free();
  core.trim();
  const waitedFor = upstream.freeBytes() < upstream.totalBytes;
  try {
    await stream.done();
    core.settleSync();
    core.close();
    return { error: null, waitedFor };
  } catch (error) {
    if (!(error instanceof CudaError)) throw error;
    return { error: error.codeName, waitedFor };
  }
}

const virtualMemory = Deno.args[0] === "mapped";
const first = openDevice("host:0");
const second = openDevice("host:1");
const right = await play(first, new NativeUpstream(first.context, virtualMemory), virtualMemory);
const broken = await play(second, new EarlyUpstream(second.context, virtualMemory), virtualMemory);
console.log(JSON.stringify({ right, broken }));
