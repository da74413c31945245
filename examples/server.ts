/**
 * An HTTP server that computes on the device: `POST /standardize` takes numbers of 32 bits and
 * returns them with mean 0 and variance 1.
 *
 * A worker owns the device, so a long request never delays the others' network traffic. Its pool has
 * a limit. Requests beyond it wait for memory, first come first served, and a client that goes away
 * gives up its place.
 *
 * Run it with `deno run -A examples/server.ts`, and send something with
 * `curl --data-binary @numbers.f32 http://localhost:8000/standardize`.
 */

import { type Device, openDevice, OutOfMemoryError } from "jsr:@gridstride/cuda";

/** The limits of the server. */
export interface Limits {
  /** The longest body in bytes; a request takes twice as much memory. */
  maxBody: number;
  /** Memory of the device. */
  maxPoolSize: string;
  /** The longest wait for memory in milliseconds. */
  timeout: number;
}

const LIMITS: Limits = { maxBody: 16 << 20, maxPoolSize: "64MiB", timeout: 10_000 };

type Question = { id: number; numbers: Float32Array<ArrayBuffer> } | { id: number; gone: true };
type Answer = { id: number; status: number; body: Float32Array<ArrayBuffer> | string };

async function standardize(
  device: Device,
  numbers: Float32Array<ArrayBuffer>,
  wait: { wait: true; signal: AbortSignal; timeout: number },
): Promise<Float32Array<ArrayBuffer>> {
  using stream = device.createStream();
  // One buffer for input and output: a request that held one and waited for another could block all.
  using memory = await device.allocateAsync("float32", 2 * numbers.length + 2, { stream, ...wait });
  const [count, place] = [numbers.length, { stream }];
  const [x, y] = [memory.view(0, count), memory.view(count, 2 * count)];
  const moments = memory.view(2 * count);
  x.copyFrom(numbers, place);
  device.kernels.moments(x, moments, place);
  const [mean, variance] = await moments.toArray(place);
  const scale = variance === 0 ? 0 : 1 / Math.sqrt(variance!);
  device.kernels.fill(y, -mean! * scale, place);
  device.kernels.axpy(scale, x, y, place);
  return await y.toArray(place);
}

/** The worker: answers questions, many at a time. */
function serveDevice({ maxPoolSize, timeout }: Limits): void {
  const device = openDevice(undefined, { memory: { maxPoolSize } });
  const gone = new Map<number, AbortController>();
  const answer = (message: Answer, transfer: Transferable[] = []) =>
    self.postMessage(message, { transfer } as never);
  self.onmessage = async ({ data }: MessageEvent<Question>) => {
    const { id } = data;
    if ("gone" in data) return gone.get(id)?.abort();
    const control = new AbortController();
    gone.set(id, control);
    try {
      const { signal } = control;
      const body = await standardize(device, data.numbers, { wait: true, signal, timeout });
      answer({ id, status: 200, body }, [body.buffer]);
    } catch (error) {
      const status = error instanceof OutOfMemoryError ? 503 : 500;
      answer({ id, status, body: String(error) });
    } finally {
      gone.delete(id);
    }
  };
}

/** Starts the server and its worker. */
export function startServer(
  limits: Limits = LIMITS,
  port = 8000,
): { readonly url: string; close(): Promise<void> } {
  const parameters = new URLSearchParams({ limits: JSON.stringify(limits) });
  const worker = new Worker(`${import.meta.url}?${parameters}`, { type: "module", name: "device" });
  const pending = new Map<number, (answer: Answer) => void>();
  let questions = 0;
  worker.onmessage = ({ data }: MessageEvent<Answer>) => {
    pending.get(data.id)?.(data);
    pending.delete(data.id);
  };
  const ask = (numbers: Float32Array<ArrayBuffer>, signal: AbortSignal) =>
    new Promise<Answer>((resolve) => {
      const id = ++questions;
      pending.set(id, resolve);
      signal.addEventListener("abort", () => worker.postMessage({ id, gone: true }));
      worker.postMessage({ id, numbers }, [numbers.buffer]);
    });
  const server = Deno.serve({ port, onListen: () => {} }, async (request) => {
    const { pathname } = new URL(request.url);
    if (pathname !== "/standardize" || request.method !== "POST") {
      return new Response("POST numbers to /standardize\n", { status: 404 });
    }
    const length = Number(request.headers.get("content-length") ?? 0);
    if (!(length <= limits.maxBody)) {
      return new Response(`At most ${limits.maxBody} bytes\n`, { status: 413 });
    }
    const bytes = await request.arrayBuffer();
    if (bytes.byteLength === 0 || bytes.byteLength % 4 !== 0) {
      return new Response("Numbers of 4 bytes each\n", { status: 400 });
    }
    if (bytes.byteLength > limits.maxBody) {
      return new Response(`At most ${limits.maxBody} bytes\n`, { status: 413 });
    }
    const { status, body } = await ask(new Float32Array(bytes), request.signal);
    return new Response(typeof body === "string" ? `${body}\n` : body, { status });
  });
  return {
    url: `http://localhost:${server.addr.port}/standardize`,
    async close() {
      await server.shutdown();
      worker.terminate();
    },
  };
}

const limits = new URL(import.meta.url).searchParams.get("limits");
if (limits !== null) serveDevice(JSON.parse(limits));
else if (import.meta.main) console.log(startServer().url);
