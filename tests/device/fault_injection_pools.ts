/**
 * Operations that make pools of memory grow, wait and shrink, for `fault_injection_test.ts`.
 *
 * @module
 */

import { MemoryManager, MemoryPool, type MemoryPoolOptions } from "../../mod.ts";
import { TemporaryDirectory } from "../support/temporary_file.ts";
import { type Fixture, keepBusy, type Operation } from "./fault_injection_fixture.ts";
import { poolOfDevice } from "../../src/memory/pool/memory_pool.ts";

const MIB = 2 ** 20;

/** Room for one rounded block of 4 MiB: a second one has to wait. */
const ONE_BLOCK: MemoryPoolOptions = { maxPoolSize: 6 * MIB };

/** Makes a pool that, where it cannot end, ends at the second attempt; the failure is thrown. */
function usePool(stack: DisposableStack, { device }: Fixture, options: MemoryPoolOptions) {
  const pool = new MemoryPool(device, options);
  stack.defer(() => {
    // A pool waits for its streams, but not for those of a device that a test calls lost.
    device.doneSync();
    try {
      pool[Symbol.dispose]();
    } catch (error) {
      pool[Symbol.dispose]();
      throw error;
    }
  });
  return pool;
}

/** Runs with a separate pool, which ends with the adopted resources. */
function withPool(
  fixture: Fixture,
  options: MemoryPoolOptions,
  act: (pool: MemoryPool, stack: DisposableStack) => void,
): DisposableStack {
  using stack = new DisposableStack();
  act(usePool(stack, fixture, options), stack);
  return stack.move();
}

/** A block that one stream still uses when another wants its memory. */
function contend(fixture: Fixture, pool: MemoryPool): void {
  keepBusy(fixture);
  pool.allocate("uint8", 4 * MIB, { stream: fixture.stream }).free();
}

/** Memory of pools, mapped and plain. */
function poolOperations(kind: string, options: MemoryPoolOptions): Record<string, Operation> {
  return {
    [`a pool of ${kind} memory that grows`]: (fixture) =>
      withPool(fixture, options, (pool, stack) => {
        stack.use(pool.allocate("uint8", 100));
        stack.use(pool.allocate("uint8", 3 * MIB, { alignment: 4096 }));
      }),
    [`a pool of ${kind} memory that preallocates`]: (fixture) =>
      withPool(fixture, { ...options, initialSize: 4 * MIB }, () => {}),
    [`a pool of ${kind} memory that is emptied`]: (fixture) =>
      withPool(fixture, options, (pool) => {
        pool.allocate("uint8", 3 * MIB).free();
        pool.clearCache();
      }),
    [`a pool of ${kind} memory that waits for another stream`]: (fixture) =>
      withPool(fixture, { ...options, ...ONE_BLOCK }, (pool, stack) => {
        contend(fixture, pool);
        stack.use(pool.allocate("uint8", 4 * MIB));
      }),
    [`a pool of ${kind} memory that waits for another stream asynchronously`]: async (fixture) => {
      using stack = new DisposableStack();
      const pool = usePool(stack, fixture, { ...options, ...ONE_BLOCK });
      contend(fixture, pool);
      stack.use(await pool.allocateAsync("uint8", 4 * MIB));
      return stack.move();
    },
    [`a pool of ${kind} memory whose blocks two streams use`]: (fixture) =>
      withPool(fixture, options, (pool) => {
        using buffer = pool.allocate("float32", 1000, { stream: fixture.stream });
        fixture.device.kernels.fill(buffer, 1);
        buffer.free();
        pool.clearCache();
      }),
    [`a pool of ${kind} memory that grows while a stream is captured`]: (fixture) =>
      withPool(fixture, options, (pool, stack) => {
        const { device, stream } = fixture;
        stack.use(stream.capture(() => {
          using inside = pool.allocate("float32", MIB, { stream });
          device.kernels.fill(inside, 1, { stream });
        })).launch(stream);
      }),
  };
}

/** Operations by name. */
export const POOL_OPERATIONS: Readonly<Record<string, Operation>> = {
  ...poolOperations("mapped", {}),
  ...poolOperations("plain", { virtualMemory: false }),
  "device.allocate beyond what the pool has": ({ device }) => {
    const buffer = device.allocate("uint8", 3 * MIB);
    return {
      [Symbol.dispose]() {
        buffer.free();
        poolOfDevice(device.context).clearCache();
      },
    };
  },
  "device.uploadFile": async (fixture) => {
    using directory = new TemporaryDirectory();
    const path = directory.file(new Uint8Array(10_000));
    keepBusy(fixture);
    return await fixture.device.uploadFile(path, { stream: fixture.stream });
  },
  "a manager that allocates": ({ device }) => new MemoryManager(device).allocate("uint8", 1000),
  "a manager that allocates past its pool": ({ device }) =>
    new MemoryManager(device).pool.allocateDirect("uint8", 1000),
};

/** What pools hold, each newly made. */
export const POOL_RESOURCES: Readonly<Record<string, (fixture: Fixture) => Disposable>> = {
  "a pool of mapped memory": (fixture) => usedPool(fixture, {}),
  "a pool of plain memory": (fixture) => usedPool(fixture, { virtualMemory: false }),
  "memory past any pool": ({ device }) =>
    poolOfDevice(device.context).allocateDirect("uint8", 1000),
};

/** A pool with memory of two streams, one of which has marks. */
function usedPool({ device, stream }: Fixture, options: MemoryPoolOptions): MemoryPool {
  const pool = new MemoryPool(device, options);
  pool.allocate("uint8", 3 * MIB, { stream }).free();
  pool.allocate("uint8", 100).free();
  pool.allocate("uint8", 3 * MIB).free();
  return pool;
}
