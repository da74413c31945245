// Prefetching of files.

import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import type { DeviceBuffer } from "../../../mod.ts";
import { type FilePart, prefetchFiles } from "../../../src/memory/upload/file_prefetch.ts";
import { UploadRing } from "../../../src/memory/upload/upload_ring.ts";
import { device } from "../../support/device.ts";
import { patternBytes, TemporaryDirectory } from "../../support/temporary_file.ts";
import { heldResources } from "./held_resources.ts";

const { context } = device;
const BYTES = patternBytes(10_000);
const PART = 1000;

interface NamedPart extends FilePart<"uint8"> {
  readonly name: string;
  readonly offset: number;
}

/** Ten parts of a file. */
function partsOf(path: string): NamedPart[] {
  return Array.from({ length: 10 }, (_, i) => ({
    name: `part ${i}`,
    path,
    offset: i * PART,
    bytes: PART,
  }));
}

function live(): { buffers: number; files: number } {
  const { buffers, files } = heldResources(context);
  return { buffers, files };
}

async function idle(milliseconds = 5): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, milliseconds));
}

/** Runs with parts of a file, and checks for leaks. */
async function withParts(act: (parts: NamedPart[]) => Promise<void>): Promise<void> {
  using directory = new TemporaryDirectory();
  const parts = partsOf(directory.file(BYTES));
  const before = live();
  await act(parts);
  assertEquals(live(), before);
}

Deno.test("prefetchFiles() yields parts in order with the properties of the caller", async () => {
  await withParts(async (parts) => {
    const names: string[] = [];
    for await (const { part, buffer } of prefetchFiles(context, parts)) {
      using uint8: DeviceBuffer<"uint8"> = buffer;
      names.push(part.name);
      assertEquals(await uint8.toArray(), BYTES.slice(part.offset, part.offset + PART));
    }
    assertEquals(names, parts.map(({ name }) => name));
    for await (const _ of prefetchFiles(context, [])) assert(false);
  });
});

Deno.test("prefetchFiles() reads at most `ahead` buffers ahead", async () => {
  await withParts(async (parts) => {
    for (const ahead of [1, 3, 20]) {
      const before = live();
      let [given, requested] = [0, 0];
      const counted = (function* () {
        for (const part of parts) {
          requested++;
          yield part;
        }
      })();
      for await (const { buffer } of prefetchFiles(context, counted, { ahead })) {
        given++;
        await idle();
        const expected = Math.min(ahead, parts.length - given);
        assertEquals(live().buffers - before.buffers, 1 + expected);
        assert(requested <= given + ahead, `${requested} parts were requested`);
        buffer.free();
      }
      assertEquals(given, 10);
    }
  });
});

Deno.test("prefetchFiles() reads at most `aheadBytes` ahead, but at least one buffer", async () => {
  await withParts(async (parts) => {
    for (
      const [aheadBytes, expected] of [[0, 1], [PART - 1, 1], [2 * PART, 2], [2500, 2]] as const
    ) {
      const before = live();
      let given = 0;
      for await (const { buffer } of prefetchFiles(context, parts, { ahead: 9, aheadBytes })) {
        given++;
        await idle(2);
        const ahead = live().buffers - before.buffers - 1;
        assertEquals(ahead, Math.min(expected, parts.length - given), `with ${aheadBytes}`);
        buffer.free();
      }
    }
  });
});

Deno.test("prefetchFiles() frees other buffers and requests no parts after a break", async () => {
  await withParts(async (parts) => {
    let returned = false;
    const source = (function* () {
      try {
        yield* parts;
      } finally {
        returned = true;
      }
    })();
    let kept: DeviceBuffer | undefined;
    for await (const { buffer } of prefetchFiles(context, source, { ahead: 3, aheadBytes: 2500 })) {
      kept = buffer;
      break;
    }
    assert(returned);
    assertEquals(await kept!.toArray(), BYTES.slice(0, PART));
    kept!.free();
    prefetchFiles(context, parts); // begins with the first request
  });
});

Deno.test("prefetchFiles() throws for a failed part at its turn", async () => {
  await withParts(async (parts) => {
    const missing = { ...parts[3]!, path: `${parts[3]!.path} is not there` };
    for (
      const [wrong, type] of [
        [missing, Deno.errors.NotFound],
        [{ ...parts[3]!, bytes: 10_000 }, RangeError],
        [{ ...parts[3]!, dtype: "text" as "uint8" }, TypeError],
        [null as unknown as NamedPart, TypeError],
      ] as const
    ) {
      const list = parts.with(3, wrong);
      let given = 0;
      await assertRejects(async () => {
        for await (const { buffer } of prefetchFiles(context, list, { ahead: 5 })) {
          given++;
          buffer.free();
        }
      }, type);
      assertEquals(given, 3);
    }
    const failing = (function* () {
      yield parts[0]!;
      throw new RangeError("no more");
    })();
    const iterator = prefetchFiles(context, failing);
    (await iterator.next()).value!.buffer.free();
    await assertRejects(() => iterator.next(), RangeError, "no more");
    assertEquals((await iterator.next()).done, true);
  });
});

Deno.test("prefetchFiles() ends on a signal, between buffers and during a wait", async () => {
  await withParts(async (parts) => {
    await using ring = UploadRing.create(context, { slots: 1, slotBytes: 10 });
    for (const at of [0, 2]) {
      const controller = new AbortController();
      let given = 0;
      const { signal } = controller;
      const [{ reason }] = await Promise.allSettled([(async () => {
        if (at === 0) setTimeout(() => controller.abort("stop"));
        for await (const { buffer } of prefetchFiles(context, parts, { signal, ring })) {
          buffer.free();
          if (++given === at) controller.abort("stop");
        }
      })()]) as [PromiseRejectedResult];
      assertEquals(reason, "stop");
      assert(at === 0 ? given < parts.length : given === at, `${given} came`);
    }
    assertThrows(() => prefetchFiles(context, parts, { signal: AbortSignal.abort() }));
  });
});

Deno.test("prefetchFiles() starts no part when the iterator of the parts aborts", async () => {
  await withParts(async (parts) => {
    for (const at of [0, 2]) {
      const controller = new AbortController();
      const { signal } = controller;
      let requested = 0;
      const aborting = parts.values().map((part) => {
        if (requested++ === at) controller.abort(new Error("enough"));
        return part;
      });
      const { allocationCount } = device.pool.stats();
      const iterator = prefetchFiles(context, aborting, { signal, ahead: 10 });
      await assertRejects(() => iterator.next(), Error, "enough");
      assertEquals(requested, at + 1);
      assert(device.pool.stats().allocationCount - allocationCount <= at);
    }
  });
});

Deno.test("prefetchFiles() frees ready buffers on a signal, and ignores a late one", async () => {
  await withParts(async (parts) => {
    const controller = new AbortController();
    const { signal } = controller;
    const iterator = prefetchFiles(context, parts, { signal, ahead: 10 });
    (await iterator.next()).value!.buffer.free();
    await idle(20); // all others arrive
    controller.abort(new Error("enough"));
    await assertRejects(() => iterator.next(), Error, "enough");
    assertEquals((await iterator.next()).done, true);
    const late = new AbortController();
    let given = 0;
    for await (const { buffer } of prefetchFiles(context, parts, { signal: late.signal })) {
      buffer.free();
      if (++given === parts.length) late.abort(new Error("too late"));
    }
    assertEquals(given, parts.length);
  });
});

Deno.test("prefetchFiles() releases files and buffers after exceptions of the caller", async () => {
  await withParts(async (parts) => {
    const broken = {
      ...parts[1]!,
      get dtype(): "uint8" {
        throw new Error("no type");
      },
    };
    const iterator = prefetchFiles(context, [parts[0]!, broken]);
    (await iterator.next()).value!.buffer.free();
    await assertRejects(() => iterator.next(), Error, "no type");

    function* failing(): Generator<NamedPart> {
      try {
        yield* parts;
      } finally {
        // deno-lint-ignore no-unsafe-finally -- the test throws on purpose
        throw new Error("no end");
      }
    }
    const other = prefetchFiles(context, failing());
    (await other.next()).value!.buffer.free();
    await assertRejects(() => other.return(), Error, "no end");
  });
});

Deno.test("prefetchFiles() refuses invalid options at once", () => {
  const refused = (options: object, type: new () => Error, text: string) =>
    assertThrows(() => prefetchFiles(context, [], options), type, text);
  refused({ ahead: 0 }, RangeError, "ahead must be an integer in 1..");
  refused({ ahead: 1.5 }, RangeError, "it is 1.5");
  refused({ aheadBytes: -1 }, RangeError, "aheadBytes");
  refused({ ring: 1 }, TypeError, "ring must be an UploadRing");
  assertThrows(() => prefetchFiles(context, 3 as never), TypeError, "parts must be iterable");
  assertThrows(() => prefetchFiles({} as never, []), TypeError, "context");
});
