import "../../support/cache_directory.ts";
import { assert, assertEquals, assertRejects, assertStrictEquals } from "@std/assert";
import { CompileError } from "../../../src/launch/compile/compile_error.ts";
import type { SourceRequest } from "../../../src/launch/cache/cache_key.ts";
import { configureKernelCache } from "../../../src/launch/cache/cache_settings.ts";
import {
  cachedCompile,
  clearKernelCache,
  kernelCacheStats,
  listKernelCache,
} from "../../../src/launch/cache/kernel_cache.ts";
import { TemporaryDirectory } from "../../support/temporary_file.ts";
import { compiledFor, CountingCompiler, REQUEST } from "./counting_compiler.ts";

type KernelCacheStats = ReturnType<typeof kernelCacheStats>;

/** Runs something with a cache of its own. */
async function withCache(
  run: (folder: TemporaryDirectory) => Promise<void>,
  maxBytes = 2 ** 20,
): Promise<void> {
  using folder = new TemporaryDirectory();
  try {
    configureKernelCache({ directory: `${folder.path}/cache`, maxBytes });
    await run(folder);
  } finally {
    // The memory too: the next test must not find its images.
    await clearKernelCache();
    configureKernelCache();
  }
}

/** A request that differs from others of another number. */
function request(number: number): SourceRequest {
  return { ...REQUEST, source: `// ${number}\n${REQUEST.source}` };
}

function entryPath(folder: TemporaryDirectory, key: string): string {
  return `${folder.path}/cache/entries/${key.slice(0, 2)}/${key.slice(2)}`;
}

/** Clears the memory and keeps the disk, as for a fresh process. */
async function forget(folder: TemporaryDirectory): Promise<void> {
  const kept = `${folder.path}/kept`;
  await Deno.rename(`${folder.path}/cache`, kept);
  await clearKernelCache();
  await Deno.rename(kept, `${folder.path}/cache`);
}

async function counted(run: () => Promise<void>): Promise<KernelCacheStats> {
  const before = kernelCacheStats();
  await run();
  const after = kernelCacheStats();
  const names = Object.keys(after) as (keyof KernelCacheStats)[];
  const differences = names.map((name) => [name, after[name] - before[name]]);
  return Object.fromEntries(differences);
}

const NOTHING: KernelCacheStats = {
  hits: 0,
  misses: 0,
  corrupt: 0,
  evicted: 0,
  stored: 0,
  failed: 0,
};

Deno.test("cachedCompile() compiles once, then finds memory and disk", () =>
  withCache(async (folder) => {
    const compiler = new CountingCompiler();
    const figures = await counted(async () => {
      const first = await compiler.cached(REQUEST);
      assertEquals(first, { ...compiledFor(REQUEST), cached: false });
      assertEquals(await compiler.cached(REQUEST), { ...first, cached: true });
      await forget(folder);
      assertEquals(await compiler.cached(REQUEST), { ...first, cached: true });
    });
    assertEquals(compiler.compilations, 1);
    assertEquals(figures, { ...NOTHING, hits: 2, misses: 1, stored: 1 });
  }));

Deno.test("cachedCompile() does not keep images with untracked files", () =>
  withCache(async () => {
    const { image, declarations } = compiledFor(REQUEST);
    const made = { image: { ...image, untracked: ["/elsewhere/a.h"] }, declarations };
    const compiler = { identity: () => Promise.resolve(["compiler"]) };
    const figures = await counted(async () => {
      for (let time = 0; time < 2; time++) {
        const compiled = await cachedCompile(compiler, REQUEST, () => Promise.resolve(made));
        assertEquals(compiled, { ...made, cached: false });
      }
    });
    assertEquals(figures, { ...NOTHING, misses: 2 });
  }));

Deno.test("cachedCompile() shares concurrent compilations", () =>
  withCache(async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const compiler = new CountingCompiler(200, promise);
    const all = [1, 1, 2, 1, 2].map((number) => compiler.cached(request(number)));
    resolve();
    const figures = await counted(async () => {
      const images = await Promise.all(all);
      assertEquals(images.filter(({ cached }) => !cached).length, 2);
      assertStrictEquals(images[0]!.image, images[1]!.image);
      assertStrictEquals(images[2]!.image, images[4]!.image);
    });
    assertEquals(compiler.compilations, 2);
    assertEquals([figures.hits + figures.misses, figures.stored], [5, 2]);
  }));

Deno.test("cachedCompile() throws a failure to all waiters, and retries later", () =>
  withCache(async () => {
    class Failing extends CountingCompiler {
      override compile(): Promise<never> {
        this.compilations++;
        return Promise.reject(new CompileError("kernel.cu", "no compiler", [], "no"));
      }
    }
    const compiler = new Failing();
    const both = [compiler.cached(REQUEST), compiler.cached(REQUEST)];
    await Promise.all(both.map((one) => assertRejects(() => one, CompileError)));
    const before = compiler.compilations;
    await assertRejects(() => compiler.cached(REQUEST), CompileError);
    assertEquals(compiler.compilations, before + 1);
    assertEquals(await listKernelCache(), []);
    assertEquals((await new CountingCompiler().cached(REQUEST)).cached, false);
  }));

Deno.test("cachedCompile() does not keep an image when the key has changed", () =>
  withCache(async () => {
    class Editing extends CountingCompiler {
      header = 1;
      override identity(): Promise<readonly string[]> {
        return Promise.resolve([`header ${this.header}`]);
      }
      override async compile(request: SourceRequest) {
        const image = await super.compile(request);
        if (this.header === 1) this.header = 2;
        return image;
      }
    }
    const compiler = new Editing();
    const figures = await counted(async () => {
      assertEquals((await compiler.cached(REQUEST)).cached, false);
      compiler.header = 1;
      assertEquals((await compiler.cached(REQUEST)).cached, false);
      assertEquals((await compiler.cached(REQUEST)).cached, false);
      assertEquals((await compiler.cached(REQUEST)).cached, true);
    });
    assertEquals(figures, { ...NOTHING, hits: 1, misses: 3, stored: 1 });
  }));

Deno.test("cachedCompile() separates directories in memory too", () =>
  withCache(async (folder) => {
    const compiler = new CountingCompiler();
    await compiler.cached(REQUEST);
    configureKernelCache({ directory: `${folder.path}/other`, maxBytes: 2 ** 20 });
    assertEquals((await compiler.cached(REQUEST)).cached, false);
    assertEquals((await listKernelCache()).length, 1);
    assertEquals(compiler.compilations, 2);
  }));

Deno.test("cachedCompile() replaces a damaged entry", () =>
  withCache(async (folder) => {
    const compiler = new CountingCompiler();
    await compiler.cached(REQUEST);
    const path = entryPath(folder, (await listKernelCache())[0]!.key);
    const whole = Deno.readFileSync(path);
    const damages: readonly Uint8Array[] = [
      new Uint8Array(),
      whole.slice(0, 100),
      whole.with(whole.length - 1, whole.at(-1)! ^ 1),
      new Uint8Array(5000),
    ];
    for (const damaged of damages) {
      Deno.writeFileSync(path, damaged);
      const figures = await counted(async () => {
        await forget(folder);
        const image = await compiler.cached(REQUEST);
        assertEquals(image, { ...compiledFor(REQUEST), cached: false });
      });
      assertEquals(figures, { ...NOTHING, misses: 1, corrupt: 1, stored: 1 });
      assertEquals(Deno.readFileSync(path), whole);
    }
  }));

Deno.test("cachedCompile() compiles each time when the cache is off", () =>
  withCache(async (folder) => {
    configureKernelCache({ directory: `${folder.path}/off`, enabled: false });
    const compiler = new CountingCompiler();
    for (const cached of [false, false]) {
      assertEquals((await compiler.cached(REQUEST)).cached, cached);
    }
    assertEquals(compiler.compilations, 2);
    assertEquals(await listKernelCache(), []);
    assertEquals(await clearKernelCache(), { entries: 0, bytes: 0 });
    assertEquals([...Deno.readDirSync(folder.path)], []);
  }));

Deno.test("listKernelCache() describes entries, and shows damaged ones", () =>
  withCache(async (folder) => {
    const before = Date.now() - 1;
    await new CountingCompiler().cached(REQUEST);
    const [entry, ...none] = await listKernelCache();
    assertEquals(none, []);
    const path = entryPath(folder, entry!.key);
    assertEquals(entry, {
      key: entry!.key,
      source: "kernel.cu",
      kernels: ["k", "tile<float, 32>", "tile<int, 8>"],
      bytes: Deno.statSync(path).size,
      lastUsed: entry!.lastUsed,
    });
    assertEquals(entry!.lastUsed.getTime() >= before, true);
    Deno.writeFileSync(path, new Uint8Array(3));
    const [damaged] = await listKernelCache();
    assertEquals([damaged!.source, damaged!.kernels, damaged!.bytes], ["", [], 3]);
    assertEquals(await clearKernelCache(), { entries: 1, bytes: 3 });
    assertEquals(await listKernelCache(), []);
  }));

Deno.test("cachedCompile() keeps the most recently used images in memory", () =>
  withCache(async () => {
    const compiler = new CountingCompiler(25 * 2 ** 20);
    for (const number of [1, 2, 1, 3]) await compiler.cached(request(number));
    assertEquals(compiler.compilations, 3);
    // The disk has room for none of them.
    assertEquals(await listKernelCache(), []);
    await compiler.cached(request(1));
    assertEquals(compiler.compilations, 3);
    await compiler.cached(request(2));
    assertEquals(compiler.compilations, 4);
  }));

Deno.test("cachedCompile() ends a shared compilation when its last request is aborted", () =>
  withCache(async () => {
    const endings: AbortSignal[] = [];
    const { promise, resolve } = Promise.withResolvers<void>();
    const controllers = Array.from({ length: 3 }, () => new AbortController());
    const joined = controllers.slice(0, 2).map(({ signal }) =>
      new Promise<void>((resolve) => {
        signal.addEventListener = (...args: Parameters<EventTarget["addEventListener"]>) => {
          EventTarget.prototype.addEventListener.apply(signal, args);
          resolve();
        };
      })
    );
    const request = (controller: AbortController) =>
      cachedCompile(new CountingCompiler(), REQUEST, async (ending) => {
        endings.push(ending);
        await promise;
        return compiledFor(REQUEST);
      }, controller.signal);
    const [first, second] = controllers.slice(0, 2).map((one) =>
      request(one).catch((error) => error)
    );
    // A request listens to its signal once it waits.
    await Promise.all(joined);
    controllers[0]!.abort("first");
    assertEquals(await first, "first");
    assert(!endings[0]!.aborted);
    controllers[1]!.abort("second");
    assertEquals(await second, "second");
    assert(endings[0]!.aborted);
    const third = request(controllers[2]!);
    while (endings.length === 1) await new Promise((resolve) => setTimeout(resolve));
    resolve();
    assertEquals((await third).cached, false);
    assert(!endings[1]!.aborted);
  }));

Deno.test("cachedCompile() does not read an entry that is larger than the cache", () =>
  withCache(async (folder) => {
    const compiler = new CountingCompiler();
    await compiler.cached(REQUEST);
    const path = entryPath(folder, (await listKernelCache())[0]!.key);
    const bytes = Deno.statSync(path).size;
    for (const large of [2 ** 20 + 1, 20 * 2 ** 30]) {
      // A file without blocks on the disk.
      Deno.truncateSync(path, large);
      await forget(folder);
      assertEquals((await compiler.cached(REQUEST)).cached, false);
      assertEquals(Deno.statSync(path).size, bytes);
    }
    assertEquals(compiler.compilations, 3);
  }));
