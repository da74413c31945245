/**
 * Doing the same to many things, several at a time.
 *
 * @module
 */

/**
 * Runs `task` for each item, at most `limit` at a time and in order. After a failure no further
 * item is begun; those that are running are waited for, so that nothing goes on behind the
 * caller's back.
 *
 * @returns What the tasks that failed threw.
 */
export async function forEachConcurrently<Item>(
  items: readonly Item[],
  limit: number,
  task: (item: Item) => Promise<void>,
): Promise<unknown[]> {
  const waiting = items.values();
  const failures: unknown[] = [];
  const worker = async () => {
    for (const item of waiting) {
      try {
        await task(item);
      } catch (error) {
        failures.push(error);
      }
      if (failures.length > 0) return;
    }
  };
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, worker));
  return failures;
}
