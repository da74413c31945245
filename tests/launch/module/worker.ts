/**
 * What the workers of `module_concurrency_test.ts` run: compiling, launching and giving back.
 *
 * @module
 */

import { openDevice } from "../../../mod.ts";

const scope = self as unknown as {
  onmessage: (
    event: MessageEvent<{ selector: string; source: string; rounds: number }>,
  ) => void;
  postMessage(message: unknown): void;
};

scope.onmessage = async ({ data: { selector, source, rounds } }) => {
  using device = openDevice(selector);
  let correct = 0;
  for (let round = 0; round < rounds; round++) {
    using module = await device.compile(source);
    using x = device.allocate("int32", 1, { fill: 0 });
    module.kernel("set(int* x)").launch({ grid: 1, block: 1 }, x);
    if ((await x.toArray())[0] === 11) correct++;
  }
  scope.postMessage(correct);
};
