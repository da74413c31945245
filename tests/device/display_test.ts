// The short forms of objects: console.log() shows a few lines, Jupyter a MIME bundle.

import { assert, assertEquals } from "@std/assert";
import * as gridstride from "../../mod.ts";
import { analyzeAccess, roofline } from "../../src/lab/analysis/mod.ts";
import { readSnapshot, snapshotPool } from "../../src/lab/memory/mod.ts";
import { DeviceTrace } from "../../src/lab/trace/mod.ts";
import { displayAs } from "../../src/ffi/display.ts";
import { device } from "../support/device.ts";
import { runProgram } from "../support/subprocess.ts";

const shown = (value: unknown) => Deno.inspect(value);

// deno-lint-ignore no-explicit-any
const bundle = (value: any): Promise<Record<"text/plain" | "text/html", string>> =>
  value[Symbol.for("Jupyter.display")]();

Deno.test("console.log() shows each object and report in one to six useful lines", async () => {
  await using stack = new AsyncDisposableStack();
  const keep = <Kept extends Disposable | AsyncDisposable>(kept: Kept) => stack.use(kept);
  const buffer = keep(device.allocate("float32", 1000, { fill: 2 }));
  const stream = keep(device.createStream());
  const module = keep(await device.compile("__device__ int q; __global__ void f(float* x) {}"));
  const kernel = module.kernel("f");
  const plan = device.launchFor(kernel, { elements: 1000 });
  const graph = keep(await stream.capture(() => kernel.launch({ ...plan, stream }, buffer)));
  const trace = keep(new DeviceTrace(device));
  const manager = device.memory;
  const snapshot = snapshotPool(device.pool);
  const forms: readonly (readonly [unknown, RegExp])[] = [
    [device, /^Device \{ device: "\w+:0", name: ".+", capability: "\d+\.\d", memory: ".+iB" \}$/],
    [device.kernels, /^DeviceKernels \{ device: .* kernels: \d+ \}$/],
    [device.pool, /^MemoryPool \{ .*live: ".+B", reserved: .*limit: .*hitRate: [\d.]+ \}$/],
    [
      buffer,
      /^DeviceBuffer \{ dtype: "float32", length: 1000, size: "3.9 KiB", device: "\w+:0" \}$/,
    ],
    [
      keep(device.allocate2d("int8", 2, 3)),
      /^PitchedBuffer \{ .*rows: 2, columns: 3, pitch: "512 B"/,
    ],
    [keep(device.allocatePinned("int8", 3)), /^PinnedBuffer \{ .*"int8", length: 3, size: "3 B"/],
    [stream, /^Stream \{ device: "\w+:0", id: \d+ \}$/],
    [device.stream, /^Stream \{ .*default: true \}$/],
    [keep(device.createEvent({ timing: true })), /^Event \{ device: .*timing: true \}$/],
    [graph, /^Graph \{ device: .*nodes: 1 \}$/],
    [module, /^Module \{ name: ".*", device: .*kernels: "f", variables: "q" \}$/],
    [kernel, /^Kernel \{ signature: "f\(float\* x\)", device: .*maxThreadsPerBlock: \d+ \}$/],
    [plan, /^LaunchPlan \{ grid: \d+, block: \d+, .*waves: [\d.]+, occupancy: [\d.]+, limiter/],
    [plan.occupancy, /^Occupancy \{ occupancy: [\d.]+, activeBlocks: \d+, .*limiter: "\w+" \}$/],
    [device.pool.stats(), /^PoolStatistics \{ live: .*peak: .*buffers: \d+.* fragmentation: /],
    [manager, /^MemoryManager \{ device: .*live: .*capacity: ".+B" \}$/],
    [manager.stats(), /^MemoryManagerStatistics \{ device: .*capacity: .*utilization: /],
    [keep(device.createUploadRing()), /^UploadRing \{ .*slots: 8, slotSize: "8 MiB"/],
    [device.pool.checkLeaks(), /^LeakReport \{ .*buffers: \d+, requested: ".+B"/],
    [trace, /^DeviceTrace \{ device: /],
    [await trace.stats(), /^TraceStatistics \{ milliseconds: [\d.]+, launches: 0, copies: 0/],
    [await trace.report(), /^TraceRecording \{[^]*statistics: TraceStatistics \{/],
    [analyzeAccess([0, 2, 4, 6]), /^AccessReport \{ pattern: "strided, stride 2", accesses: 4/],
    [
      roofline({ bytes: 10, operations: 1, bandwidth: 100, throughput: 100 }),
      /^Roofline \{ bound: "memory", intensity: 0.1, ridge: 1, attainable: 10 \}$/,
    ],
    [snapshot, /^MemorySnapshot \{[^]*live: ".+B",\s+reserved: ".+B"/],
    [readSnapshot(JSON.stringify(snapshot)), /^MemorySnapshot \{/],
    [device.context, /^DeviceContext \{ device: "\w+:0" \}$/],
  ];
  for (const [value, pattern] of forms) {
    const text = shown(value);
    assert(pattern.test(text), text);
    assert(text.split("\n").length <= 6, text);
    const json = JSON.stringify(value);
    assert(
      json.length < 500 ||
        /^(?:MemorySnapshot|TraceRecording|\w+(?:Report|Statistics)) /.test(text),
      json,
    );
    const { "text/plain": plain, "text/html": html } = await bundle(value);
    assert(plain.startsWith(text.slice(0, text.indexOf("{"))), plain);
    assert(/^<(?:table|iframe)[^]*<\/(?:table|iframe)>$/.test(html), html);
  }
});

Deno.test("JSON has the short forms of objects, and the whole of data", () => {
  const { label, info } = device;
  const json = JSON.parse(JSON.stringify({ device, plan: device.pool.checkLeaks() }));
  assertEquals([json.device.device, json.device.name], [label, info.name]);
  assertEquals(Object.keys(json.plan), Object.keys(device.pool.checkLeaks()));
});

Deno.test("console.log() shows the state of what is freed or closed, and never throws", async () => {
  using own = gridstride.openDevice(device.label);
  const module = await own.compile("__global__ void f() {}");
  const stream = own.createStream();
  const closed = {
    kernel: module.kernel("f"),
    buffer: own.allocate("float32", 4),
    pool: own.createPool(),
    event: own.createEvent(),
    pinned: own.allocatePinned("int8", 1),
    ring: own.createUploadRing(),
    ...{ module, stream, device: own },
  };
  for (const one of Object.values(closed)) {
    if (Symbol.dispose in one) one[Symbol.dispose]();
    else if (Symbol.asyncDispose in one) await one[Symbol.asyncDispose]();
  }
  for (const [name, one] of Object.entries(closed)) {
    assert(/\w+ \{[^]*disposed: true,?\s+\}$/.test(shown(one)), `${name}: ${shown(one)}`);
    assert((await bundle(one))["text/html"].includes("<th>disposed</th><td>true</td>"), name);
  }
  for (const [name, one] of Object.entries(gridstride)) {
    if (typeof one === "function" && one.prototype !== undefined) shown(one.prototype);
    assert(shown(one) !== "", name);
  }
});

Deno.test("Jupyter shows the elements of a buffer and the page of a snapshot", async () => {
  using buffer = device.upload(new Float32Array([1, 2.5]));
  const { "text/plain": plain, "text/html": html } = await bundle(buffer);
  assert(plain.includes("elements: Float32Array(2) [ 1, 2.5 ]"), plain);
  assert(html.includes("<th>elements</th><td>Float32Array(2) [ 1, 2.5 ]</td>"), html);
  const { "text/html": page } = await bundle(snapshotPool(device.pool));
  assert(page.startsWith('<iframe srcdoc="&#60;!DOCTYPE html&#62;'), page.slice(0, 80));
});

Deno.test("displayAs() leaves out fields that throw and escapes HTML", async () => {
  const value = displayAs({ text: `<b a="1">&` }, "Name", {
    text: ({ text }) => text,
    lines: () => "a\nb",
    share: () => 1 / 3,
    absent: () => undefined,
    broken: () => {
      throw new Error("never shown");
    },
  }, { more: { late: () => Promise.resolve([1]), failing: () => Promise.reject(new Error()) } });
  assertEquals(shown(value), `Name { text: '<b a="1">&', lines: "a\\nb", share: 0.3333 }`);
  assertEquals(Object.keys(value), ["text"]);
  assertEquals((await bundle(value))["text/html"].split("<tr>").slice(1), [
    "<th>text</th><td>&#60;b a=&#34;1&#34;&#62;&#38;</td></tr>",
    "<th>lines</th><td><pre>a\nb</pre></td></tr>",
    "<th>share</th><td>0.3333</td></tr>",
    "<th>late</th><td>[ 1 ]</td></tr></table>",
  ]);
});

Deno.test("Reports of fakes say so", async () => {
  const { code, stdout, stderr } = await runProgram(
    `import { openDevice } from "@gridstride/cuda";
     import { validate } from "@gridstride/cuda/tensor";
     import { DeviceTrace, traceFile } from "@gridstride/cuda/trace";
     using device = openDevice();
     using trace = new DeviceTrace(device);
     const recording = await trace.report();
     const [row] = await validate(device, { operations: ["fill"], sizes: [1] });
     const { fake } = device.memory.stats();
     const named = JSON.parse([...traceFile([recording])].join("")).traceEvents.find(({ name }) => name === "process_name");
     console.log(JSON.stringify([fake, recording.fake, row.fake, named.args.name]), device.stream);`,
    { environment: { GRIDSTRIDE_FAKE: "64MiB@8.9" } },
  );
  assertEquals([code, stderr], [0, ""]);
  assert(
    /^\[true,true,true,"host:0 \(fake .*\)"\] Stream .*"host:0 \(fake\)"/.test(stdout),
    stdout,
  );
});
