/**
 * What programs with NumPy do, on a device: clusters by k-means, a regression by gradient descent,
 * the first principal component, quartiles, masks, and a file for NumPy.
 *
 * Run it with `deno run -A examples/science.ts`.
 */

import {
  arange,
  einsum,
  norm,
  normal,
  ones,
  quantile,
  saveNpz,
  scatterAdd,
  type Tensor,
  tensor,
  tidy,
  uniform,
  zeros,
} from "jsr:@gridstride/cuda/tensor";

type Floats = Tensor<"float32">;

/** The centers of as many clusters as there are first guesses. */
export function clusters(points: Floats, guesses: Floats, steps = 10): Floats {
  return tidy(() => {
    const [rows, k] = [points.shape[0]!, guesses.shape[0]!];
    let centers = guesses;
    for (let step = 0; step < steps; step++) {
      const labels = norm(points.expandDims(1).subtract(centers), { axis: 2 }).argmin({ axis: 1 });
      const counts = scatterAdd(zeros([k]), labels, ones([rows]));
      centers = scatterAdd(zeros(guesses.shape), labels, points).divide(counts.expandDims(1));
    }
    return centers;
  });
}

/** The weights for which `x · weights` is nearest to `y`. */
export function regression(x: Floats, y: Floats, steps = 400, rate = 0.01): Floats {
  return tidy(() => {
    let weights = zeros([x.shape[1]!]);
    for (let step = 0; step < steps; step++) {
      const gradient = x.transpose().matmul(x.matmul(weights).subtract(y));
      weights = weights.subtract(gradient.multiply(rate));
    }
    return weights;
  });
}

/** The direction in which the points vary most, and their variance along it. */
export function principalComponent(points: Floats, steps = 50) {
  return tidy(() => {
    const centered = points.subtract(points.mean({ axis: 0 }));
    const covariance = einsum("ni,nj->ij", [centered, centered]).divide(points.shape[0]! - 1);
    let direction: Floats = ones([points.shape[1]!]);
    for (let step = 0; step < steps; step++) {
      direction = covariance.matmul(direction);
      direction = direction.divide(norm(direction));
    }
    return { direction, variance: direction.matmul(covariance).matmul(direction) };
  });
}

/** Three clouds of 100 points, one after another in each row of three. */
export function clouds(): Floats {
  using offsets = tensor([[0, 0], [6, 6], [-6, 6]]);
  return tidy(() => normal([100, 3, 2], { seed: 1 }).add(offsets).reshape([300, 2]));
}

if (import.meta.main) {
  using points = clouds();
  using centers = clusters(points, points.slice([{ stop: 3 }]));
  console.log(await centers.toText());

  using x = uniform([200, 3], { seed: 2 });
  using weights = regression(x, x.matmul(tensor([2, -3.4, 0.5])));
  console.log("weights", await weights.toText());

  const { direction, variance } = principalComponent(points);
  console.log("variance", await variance.item(), "along", await direction.toText());
  console.log("quartiles", await quantile(points, [0.25, 0.5, 0.75], { axis: 0 }).toText());

  using table = arange(6).reshape([2, 3]);
  console.log("above 3", await (await table.select([table.greater(3)])).toText());
  table.set([table.greater(3)], -1);
  table.set([{}, 0], 9);
  for await (const row of table) console.log(row);

  const file = await Deno.makeTempFile({ suffix: ".npz" });
  await saveNpz(file, { centers, weights });
  console.log("np.load reads", file);
}
