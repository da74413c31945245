import {
  assert,
  assertEquals,
  assertNotStrictEquals,
  assertRejects,
  assertStrictEquals,
  assertThrows,
} from "@std/assert";
import { CudaError, type Graph } from "../../mod.ts";
import { injectFault } from "../support/fault_injection.ts";
import { resourceTally } from "../../src/ffi/native_device.ts";
import { isCapturing, observeCaptures } from "../../src/stream/running_captures.ts";
import { closeStream } from "../../src/stream/stream.ts";
import { device } from "../support/device.ts";

const { library } = device.context;

/** The stream is as it was before anything was captured. */
async function assertWorks(): Promise<void> {
  assertEquals(device.stream.captureToken, undefined);
  assertEquals(isCapturing(), false);
  using value = device.allocate("float32", 1, { fill: 5 });
  assertEquals([...await value.toArray()], [5]);
}

Deno.test("Stream.captureToken is the same for all streams of a capture and undefined for others", async () => {
  using side = device.createStream();
  using apart = device.createStream();
  let token: object | undefined;
  using first = device.stream.capture(() => {
    token = device.stream.captureToken;
    assert(token !== undefined);
    assertEquals([side.captureToken, apart.captureToken], [undefined, undefined]);
    using event = device.stream.record();
    side.wait(event);
    assertStrictEquals(side.captureToken, token);
    using inner = apart.capture(() => assertNotStrictEquals(apart.captureToken, token));
    assertEquals(inner.nodeCount, 0);
    assertStrictEquals(device.stream.captureToken, token);
    using done = side.record();
    device.stream.wait(done);
  });
  using second = device.stream.capture(() => {
    assertNotStrictEquals(device.stream.captureToken, token);
  });
  assertEquals([first.nodeCount, second.nodeCount], [0, 0]);
  assertEquals([side.captureToken, apart.captureToken], [undefined, undefined]);
  await assertWorks();
});

Deno.test("observeCaptures() reports the begin and the end of each capture", () => {
  const heard: unknown[] = [];
  const stop = observeCaptures({
    captureBegun: (token, stream) => heard.push(["begun", token, stream]),
    captureEnded: (token, graph) => heard.push(["ended", token, graph]),
  });
  try {
    let token: object | undefined;
    using graph = device.stream.capture(() => token = device.stream.captureToken);
    assertEquals(heard.length, 2);
    assertEquals(heard[0], ["begun", token, device.stream]);
    assertStrictEquals((heard[1] as unknown[])[2], graph);
    assertThrows(
      () =>
        device.stream.capture(() => {
          throw new Error("no");
        }),
      Error,
      "no",
    );
    assertEquals((heard[3] as unknown[])[2], undefined);
  } finally {
    stop();
  }
  device.stream.capture(() => {})[Symbol.dispose]();
  assertEquals(heard.length, 4);
});

Deno.test("Stream.capture() ends and rethrows when the body throws", async () => {
  using x = device.allocate("float32", 10);
  const error = new Error("the body's own");
  const thrown = assertThrows(() =>
    device.stream.capture(() => {
      device.kernels.fill(x, 1);
      throw error;
    })
  );
  assertStrictEquals(thrown, error);
  await assertWorks();
});

Deno.test("Stream.capture() refuses an asynchronous body", async () => {
  const bad: readonly (readonly [unknown, string])[] = [
    [async () => {}, "body must be a synchronous function: it is an asynchronous one"],
    [() => Promise.resolve(1), "body must be synchronous: it returned a promise"],
    [() => Promise.reject(new Error("late")), "body must be synchronous: it returned a promise"],
    [undefined, "body must be a synchronous function: it is undefined"],
    [{}, "body must be a synchronous function"],
  ];
  for (const [body, message] of bad) {
    assertThrows(() => device.stream.capture(body as () => void), TypeError, message);
  }
  await assertWorks();
});

Deno.test("Stream.capture() accepts each mode and refuses others", async () => {
  for (const mode of ["global", "thread-local", "relaxed"] as const) {
    device.stream.capture(() => {}, { mode })[Symbol.dispose]();
  }
  for (const mode of ["", "Global", "toString", 0, null]) {
    assertThrows(
      () => device.stream.capture(() => {}, { mode: mode as "relaxed" }),
      TypeError,
      'mode must be one of "global", "thread-local", "relaxed": it is',
    );
  }
  assertThrows(() => device.stream.capture(() => {}, 3 as never), TypeError, "options");
  await assertWorks();
});

Deno.test("Stream.capture() survives calls that would invalidate it", async () => {
  using x = device.allocate("float32", 10, { fill: 1 });
  using other = device.createStream();
  using earlier = other.record();
  using start = other.record({ timing: true });
  using pinned = device.allocatePinned("float32", 10);
  await other.done();
  const array = new Float32Array(10);
  const captured = "as the stream is being captured";
  const running = "while a stream is being captured";
  const refused: Record<string, [() => unknown, string]> = {
    "query": [() => device.stream.query(), captured],
    "doneSync": [() => device.stream.doneSync(), captured],
    "upload": [() => x.copyFrom(array), captured],
    "upload on another stream": [() => x.copyFrom(array, { stream: other }), running],
    "download": [() => x.toArraySync(), captured],
    "a wait for an event outside": [() => device.stream.wait(earlier), captured],
    "asking for another stream": [() => other.query(), running],
    "waiting for another stream": [() => other.doneSync(), running],
    "asking for an event": [() => earlier.query(), running],
    "waiting for an event": [() => earlier.doneSync(), running],
    "measuring": [() => start.elapsedSince(start), running],
    "waiting for the device": [() => device.doneSync(), running],
    "pinning": [() => device.allocatePinned("float32", 1), running],
    "unpinning": [() => pinned[Symbol.dispose](), running],
    "capturing again": [() => device.stream.capture(() => {}), "it is being captured already"],
    "closing": [() => closeStream(device.stream), "while it is being captured"],
  };
  const rejected: (() => Promise<unknown>)[] = [
    () => device.stream.done(),
    () => other.done(),
    () => earlier.done(),
    () => x.toArray(),
    () => device.done(),
  ];
  const rejections: Promise<unknown>[] = [];
  using graph = device.stream.capture(() => {
    device.kernels.scale(x, 2, x);
    for (const [action, message] of Object.values(refused)) {
      assertThrows(action, TypeError, message);
    }
    for (const reject of rejected) rejections.push(assertRejects(reject, TypeError, "captured"));
    using mark = device.stream.record();
    assertThrows(() => mark.query(), TypeError, "recorded in a capture");
    device.kernels.scale(x, 2, x);
  });
  await Promise.all(rejections);
  assertEquals(graph.nodeCount, 2);
  graph.launch();
  assertEquals((await x.toArray())[9], 4);
  await assertWorks();
});

Deno.test("Stream.capture() allows queries of other work when relaxed", async () => {
  using other = device.createStream();
  using event = other.record();
  await other.done();
  using graph = device.stream.capture(() => {
    assertEquals([other.query(), event.query()], [true, true]);
    event.doneSync();
    device.allocatePinned("float32", 1);
    assertThrows(() => device.doneSync(), TypeError, "waits for the whole device");
  }, { mode: "relaxed" });
  assertEquals(graph.nodeCount, 0);
  await assertWorks();
});

Deno.test("Stream.capture() refuses to begin while Device.done() is pending", async () => {
  const waiting = device.done();
  assertThrows(() => device.stream.capture(() => {}), TypeError, "await it first");
  await waiting;
  device.stream.capture(() => {})[Symbol.dispose]();
});

Deno.test("Stream.wait() refuses an event of an ended capture until it is recorded again", async () => {
  using other = device.createStream();
  using event = device.createEvent();
  using graph = device.stream.capture(() => event.record(device.stream));
  assertThrows(() => other.wait(event), TypeError, "a capture that has ended");
  assertThrows(() => event.query(), TypeError, "recorded in a capture");
  await assertRejects(() => event.done(), TypeError, "recorded in a capture");
  event.record(other);
  await event.done();
  assertEquals(graph.nodeCount, 0);
});

Deno.test("Stream.capture() fails when a stream was not joined, on the host device also one without work", async () => {
  using side = device.createStream();
  using x = device.allocate("float32", 10);
  const capture = (work: () => void) =>
    device.stream.capture(() => {
      using event = device.stream.record();
      side.wait(event);
      work();
    });
  const assertUnjoined = (work: () => void) => {
    const error = assertThrows(() => capture(work), CudaError);
    assertEquals(error.codeName, "cudaErrorStreamCaptureUnjoined");
    assertEquals(side.captureToken, undefined);
  };
  assertUnjoined(() => device.kernels.fill(x, 1, { stream: side }));
  // NVIDIA's guide requires the join, and drivers do without it.
  if (library.kind === "host") assertUnjoined(() => {});
  else {
    using graph = capture(() => {});
    assertEquals([graph.nodeCount, side.captureToken], [0, undefined]);
  }
  await assertWorks();
});

Deno.test("Stream.capture() makes and launches a graph within the capture of another stream", async () => {
  using apart = device.createStream();
  using x = device.allocate("float32", 10, { fill: 1 });
  using y = device.allocate("float32", 10, { fill: 1 });
  await device.stream.done();
  let inner: Graph | undefined;
  using outer = device.stream.capture(() => {
    device.kernels.scale(x, 2, x);
    inner = apart.capture(() => device.kernels.scale(y, 3, y, { stream: apart }));
    device.kernels.scale(x, 2, x);
    inner.launch();
    inner.launch(apart);
  });
  assertEquals([inner!.nodeCount, outer.nodeCount], [1, 3]);
  await apart.done();
  assertEquals([(await x.toArray())[0], (await y.toArray())[0]], [1, 3]);
  outer.launch();
  assertEquals([(await x.toArray())[0], (await y.toArray())[0]], [4, 9]);
  inner![Symbol.dispose]();
});

Deno.test("Stream.capture() fails at its end when it was invalidated", async () => {
  using x = device.allocate("float32", 10);
  let failed: unknown;
  const error = assertThrows(() =>
    device.stream.capture(() => {
      // As code that calls the native library by itself would.
      library.symbols.gs_stream_synchronize(device.stream.id);
      assert(device.stream.captureToken !== undefined);
      try {
        device.kernels.fill(x, 1);
      } catch (error) {
        failed = error;
      }
    }), CudaError);
  assertEquals(error.codeName, "cudaErrorStreamCaptureInvalidated");
  assertEquals((failed as CudaError).codeName, "cudaErrorStreamCaptureInvalidated");
  await assertWorks();
});

Deno.test("Stream[Symbol.dispose]() takes effect at the end of a capture", async () => {
  using x = device.allocate("float32", 10);
  const side = device.createStream();
  using graph = device.stream.capture(() => {
    using begun = device.stream.record();
    side.wait(begun);
    device.kernels.fill(x, 3, { stream: side });
    using done = side.record();
    device.stream.wait(done);
    side[Symbol.dispose]();
    assertEquals(side.disposed, false);
  });
  assertEquals(side.disposed, true);
  graph.launch();
  assertEquals((await x.toArray())[0], 3);
});

Deno.test("Device.allocate() and free() work during a capture", async () => {
  const scratch: Disposable[] = [];
  using x = device.allocate("float32", 10, { fill: 1 });
  await device.stream.done();
  using graph = device.stream.capture(() => {
    const doubled = device.allocate("float32", 10);
    scratch.push(doubled);
    device.allocate("float32", 1_000_003).free();
    device.kernels.add(x, x, doubled);
    device.kernels.add(x, doubled, x);
  });
  graph.launch();
  graph.launch();
  assertEquals((await x.toArray())[0], 9);
  for (const buffer of scratch) buffer[Symbol.dispose]();
});

Deno.test("Stream.capture() leaves nothing behind when any call fails", async () => {
  const calls = [
    ["cudaStreamBeginCapture", 1],
    ["cudaStreamGetCaptureInfo", 1],
    ["cudaStreamEndCapture", 1],
    ["cudaGraphGetNodes", 1],
    ["cudaGraphInstantiateWithFlags", 1],
    ["cudaThreadExchangeStreamCaptureMode", 1],
    ["cudaSetDevice", 1],
    ["cudaSetDevice", 3],
  ] as const;
  using x = device.allocate("float32", 10);
  for (const [call, nth] of calls) {
    const before = graphsAlive();
    {
      using _fault = injectFault(library, call, nth, 46);
      const error = assertThrows(
        () => device.stream.capture(() => device.kernels.fill(x, 1)),
        CudaError,
      );
      assertEquals(error.code, 46, call);
    }
    assertEquals(graphsAlive(), before, call);
    await assertWorks();
  }
});

function graphsAlive(): number {
  return resourceTally(library).graphs;
}
