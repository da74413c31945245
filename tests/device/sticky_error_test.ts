import { assert, assertEquals, assertMatch } from "@std/assert";
import { runFile, runProgram } from "../support/subprocess.ts";

interface ShownError {
  readonly class: string;
  readonly code: number;
  readonly codeName: string;
  readonly sticky: boolean;
  readonly device: string;
  readonly detail: string;
  readonly message: string;
}

interface Outcome {
  readonly launch: ShownError | null;
  readonly first: ShownError | null;
  readonly later: Readonly<Record<string, ShownError | null>>;
  readonly scope: ShownError | null;
  readonly others: boolean;
}

/** Code and description of each fault on the host device. */
const FAULTS: Readonly<Record<string, readonly [codeName: string, detail: RegExp]>> = {
  null_write: [
    "cudaErrorIllegalAddress",
    /^kernel fault_null_write, block \(\d,\d,0\), thread \(\d,\d,0\): write to address 0x0, through a null/,
  ],
  out_of_bounds: [
    "cudaErrorIllegalAddress",
    /^kernel fault_out_of_bounds, block \(0,0,0\), thread \(0,0,0\): .*(?:address|memory)/,
  ],
  divide_by_zero: [
    "cudaErrorLaunchFailure",
    /^kernel fault_divide_by_zero, block \(0,0,0\), thread \(0,0,0\): integer division by zero/,
  ],
  trap: [
    "cudaErrorLaunchFailure",
    /^kernel fault_trap, block \(0,0,0\), thread \(\d+,0,0\): .*trap/,
  ],
  assert: [
    "cudaErrorAssert",
    /^kernel fault_assert, block \(0,0,0\), thread \(0,0,0\): assertion `condition != 0` failed/,
  ],
  stack_overflow: [
    "cudaErrorIllegalAddress",
    /^kernel fault_stack_overflow, block \(0,0,0\), thread \(0,0,0\): stack overflow/,
  ],
  deadlock: [
    "cudaErrorLaunchFailure",
    /^kernel fault_deadlock, block \(0,0,0\), .*(?:wait|deadlock)/i,
  ],
};

/** Other processors return a number. */
const FAULTS_ON_X86: readonly string[] = ["divide_by_zero"];

const COUNT = Object.keys(FAULTS).length;

const { code, stdout, stderr } = await runFile("tests/device/sticky_error_program.ts", {
  environment: { GRIDSTRIDE_FAKE: `${COUNT + 1}x64MiB@8.9`, GRIDSTRIDE_DEVICE: undefined },
});

Deno.test("A process survives faults of its kernels and ends normally", () => {
  assertEquals([code, stderr], [0, ""]);
});

const outcomes: Readonly<Record<string, Outcome>> = code === 0 ? JSON.parse(stdout) : {};

for (const [index, [name, [codeName, detail]]] of Object.entries(FAULTS).entries()) {
  if (FAULTS_ON_X86.includes(name) && Deno.build.arch !== "x86_64") continue;

  Deno.test(`Every call throws ${codeName} until the device closes after fault_${name}`, () => {
    const { launch, first, later, scope, others } = outcomes[name]!;
    assertEquals(launch, null, "the launch itself is only enqueued");
    assert(first !== null, "the wait did not throw");
    assertEquals(
      [first.class, first.codeName, first.sticky, first.device],
      ["CudaError", codeName, true, `host:${index + 1}`],
    );
    assertMatch(first.detail, detail);
    assert(first.message.includes(first.detail), first.message);
    for (const [call, error] of Object.entries(later)) {
      assertEquals([error?.code, error?.sticky], [first.code, true], call);
    }
    assertEquals([scope?.class, scope?.code], ["CudaError", first.code]);
    assert(others, "another device does not compute any more");
  });
}

Deno.test("CudaError of a fault names the call site of the launch when the pool tracks memory", async () => {
  const { stdout, stderr } = await runProgram(`
    import { openDevice } from "@gridstride/cuda";
    const device = openDevice("host:0", { memory: { preset: "development" } });
    const trap = device.kernels.load("fault_trap()");
    function guiltyFunction() { trap.launch({ grid: 1, block: 32 }); }
    guiltyFunction();
    await device.stream.done().catch((error) => console.log(error.message));
  `);
  assertEquals(stderr, "");
  assertMatch(stdout, /fault_trap.*the last launch of fault_trap was at guiltyFunction .*:\d+/);
});
