import { assertEquals } from "@std/assert";
import { type Figure, figureOf } from "../../bench/report/figure.ts";
import { formatReached, type GoalOutcome } from "../../bench/report/goals.ts";
import { poolGoals } from "../../bench/report/pool_goals.ts";

const OURS = "allocate() and free()";

function figure(group: string, title: string, nanoseconds: number, area = "pool"): Figure {
  return figureOf({ area, group, title, baseline: false, bytes: null }, [nanoseconds]);
}

function rows(goals: readonly GoalOutcome[]): string[] {
  return goals.map((goal) => [goal.name, goal.goal, goal.measured, formatReached(goal)].join("|"));
}

Deno.test("Pool goals compare a pair with its goal and with malloc", () => {
  const goals = poolGoals([
    figure("allocate and free 256 B", OURS, 60),
    figure("allocate and free 256 B", "malloc() and free() in C", 15),
    figure("allocate and free 4 KiB", OURS, 60.1),
    // Of another area: no business of the pool's.
    figure("allocate and free 64 KiB", OURS, 1, "memory"),
  ], []);
  assertEquals(rows(goals), [
    "allocate and free 256 B|at most 60.0 ns|60.0 ns|reached",
    "malloc() and free() by that||0.250 ×|",
    "allocate and free 4 KiB|at most 60.0 ns|60.1 ns|missed",
  ]);
});

Deno.test("Pool goals cover 1,000 live blocks", () => {
  const thousand = "free one of 1 000 live blocks of 512 B to 1 MiB and allocate another";
  const many = "free one of 100 000 live blocks of 512 B to 16 KiB and allocate another";
  assertEquals(rows(poolGoals([figure(thousand, OURS, 99), figure(many, OURS, 500)], [])), [
    `${thousand}|at most 100 ns|99.0 ns|reached`,
    `${many}||500 ns|`,
  ]);
});

Deno.test("Pool goals compare with cudaMalloc on a GPU only", () => {
  const device = "gs_memory_allocate and gs_memory_free in C";
  const cuda = (size: string) => `against cudaMalloc and cudaFree, ${size}`;
  const host = "against the host device's allocator, 4 KiB";
  const goals = poolGoals([
    ...[figure(cuda("4 KiB"), OURS, 50), figure(cuda("4 KiB"), device, 1000)],
    ...[figure(cuda("1 MiB"), OURS, 50), figure(cuda("1 MiB"), device, 999)],
    ...[figure(host, OURS, 50), figure(host, device, 100)],
  ], []);
  assertEquals(rows(goals), [
    "cudaMalloc and cudaFree, 4 KiB|at least 20.0 ×|20.0 ×|reached",
    "the host device's allocator, 4 KiB||2.00 ×|",
    "cudaMalloc and cudaFree, 1 MiB|at least 20.0 ×|20.0 ×|missed",
  ]);
});

Deno.test("Pool goals compare with peers that did the same work", () => {
  const peers = [
    { name: "Slow", version: "1", nanoseconds: { "allocate 4 KiB": 400 } },
    { name: "Fast", version: "2", nanoseconds: { "allocate 4 KiB": 100, "allocate 1 MiB": 1 } },
  ];
  assertEquals(rows(poolGoals([figure("allocate and free 4 KiB", OURS, 50)], peers)), [
    "allocate and free 4 KiB|at most 60.0 ns|50.0 ns|reached",
    "Slow, 4 KiB|at least 4.00 ×|8.00 ×|reached",
    "Fast, 4 KiB|at least 4.00 ×|2.00 ×|missed",
  ]);
  assertEquals(poolGoals([], peers), []);
});
