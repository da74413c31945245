import {
  assert,
  assertEquals,
  assertNotStrictEquals,
  assertRejects,
  assertStrictEquals,
  assertThrows,
} from "@std/assert";
import { type CaptureOptions, CudaError } from "../../mod.ts";
import { injectFault } from "../../src/ffi/fault_injection.ts";
import { resourceTally } from "../../src/ffi/native_device.ts";
import { isCapturing, observeCaptures } from "../../src/stream/running_captures.ts";
import { device } from "../support/device.ts";

const { library } = device.context;

/** The stream is as it was before anything was captured. */
async function assertWorks(): Promise<void> {
  assertEquals(device.stream.captureToken, undefined);
  assertEquals(isCapturing(), false);
  using value = device.allocate("float32", 1, { fill: 5 });
  assertEquals([...await value.toArray()], [5]);
}

Deno.test("all streams that join a capture tell the same token, others none", async () => {
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
  });
  using second = device.stream.capture(() => {
    assertNotStrictEquals(device.stream.captureToken, token);
  });
  assertEquals([first.nodeCount, second.nodeCount], [0, 0]);
  assertEquals([side.captureToken, apart.captureToken], [undefined, undefined]);
  await assertWorks();
});

Deno.test("observers hear of the begin, and of the end with its graph or without", () => {
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

Deno.test("a body that throws ends the capture, and its error is the one that is told", async () => {
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

Deno.test("a body must be a synchronous function", async () => {
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

Deno.test("modes are checked, and each is accepted", async () => {
  for (const mode of ["global", "thread-local", "relaxed"] as const) {
    device.stream.capture(() => {}, { mode })[Symbol.dispose]();
  }
  for (const mode of ["", "Global", "toString", 0, null]) {
    assertThrows(
      () => device.stream.capture(() => {}, { mode } as unknown as CaptureOptions),
      TypeError,
      'mode must be one of "global", "thread-local", "relaxed": it is',
    );
  }
  assertThrows(() => device.stream.capture(() => {}, 3 as CaptureOptions), TypeError, "options");
  await assertWorks();
});

Deno.test("what would spoil a capture is refused before it does", async () => {
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
    "closing": [() => device.stream.close(), "while it is being captured"],
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

Deno.test("a relaxed capture lets this thread ask for other work", async () => {
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

Deno.test("a wait for the device that is under way keeps captures from beginning", async () => {
  const waiting = device.done();
  assertThrows(() => device.stream.capture(() => {}), TypeError, "await it first");
  await waiting;
  device.stream.capture(() => {})[Symbol.dispose]();
});

Deno.test("events of a capture that is over are told apart until they are recorded again", async () => {
  using other = device.createStream();
  using event = device.createEvent();
  using graph = device.stream.capture(() => event.record(device.stream));
  assertThrows(() => other.wait(event), TypeError, "a capture that is over");
  assertThrows(() => event.query(), TypeError, "recorded in a capture");
  await assertRejects(() => event.done(), TypeError, "recorded in a capture");
  event.record(other);
  await event.done();
  assertEquals(graph.nodeCount, 0);
});

Deno.test("a stream that was not joined fails the capture", async () => {
  using side = device.createStream();
  using x = device.allocate("float32", 10);
  const error = assertThrows(() =>
    device.stream.capture(() => {
      using event = device.stream.record();
      side.wait(event);
      device.kernels.fill(x, 1, { stream: side });
    }), CudaError);
  assertEquals(error.codeName, "cudaErrorStreamCaptureUnjoined");
  assertEquals(side.captureToken, undefined);
  await assertWorks();
});

Deno.test("a capture that something has spoilt fails when it ends, and is over", async () => {
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

Deno.test("a stream that is disposed in a capture goes when the capture ends", async () => {
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

Deno.test("buffers can be allocated and freed in a capture", async () => {
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

Deno.test("whichever call of a capture fails, it is over and nothing is left", async () => {
  const calls = [
    ["cudaStreamBeginCapture", 1],
    ["cudaStreamGetCaptureInfo", 1],
    ["cudaStreamEndCapture", 1],
    ["cudaGraphGetNodes", 1],
    ["cudaGraphInstantiateWithFlags", 1],
    ["cudaGraphDestroy", 1],
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
