import { afterEach, expect, test } from '@jest/globals';
import { pod } from '@kubus/pod-lifecycle/testing';
import { Loop } from './loop.ts';
import { node } from './small-node.ts';

/** How a map goes over its entries. */
type Walk = () => Iterator<unknown, undefined>;
const names = [Symbol.iterator, 'entries', 'values', 'keys'] as const;
const real = new Map(names.map((name) => [name, Reflect.get(Map.prototype, name) as Walk]));
let steps = 0;

afterEach(() => {
  for (const [name, walk] of real) Reflect.set(Map.prototype, name, walk);
});

/** Counts every entry of a map over which the code goes. */
function countSteps(): void {
  steps = 0;
  const counting = (walk: Walk) =>
    function* counted(this: Map<unknown, unknown>) {
      for (const walked = walk.call(this); ;) {
        const step = walked.next();
        if (step.done === true) return;
        steps += 1;
        yield step.value;
      }
    };
  for (const name of names) {
    const walk = real.get(name);
    if (walk !== undefined) Reflect.set(Map.prototype, name, counting(walk));
  }
}

/** Static pods that are all there when the node starts, and a second look at all of them. */
function stepsFor(count: number): { steps: number; loop: Loop } {
  const loop = new Loop({
    sources: ['file'],
    node: { ...node, allocatable: { cpu: '10', memory: '10Gi', pods: '110' } },
  });
  for (let one = 0; one < count; one++) {
    loop.state.desired('file', { operation: 'ADD', source: 'file', pod: pod({}, { uid: `u${one}`, name: `p${one}` }) });
  }
  countSteps();
  loop.known();
  loop.decideAll();
  return { steps, loop };
}

test('5,000 pods are admitted up to the limit and refused beyond, in time proportional to their number', () => {
  const { steps: few } = stepsFor(1_000);
  const { steps: many, loop } = stepsFor(5_000);
  const works = [...loop.works.values()];
  expect(works.filter(({ work }) => work === 'sync')).toHaveLength(110);
  expect(works.filter(({ work, failure }) => work === 'reject' && failure?.reason === 'OutOfpods')).toHaveLength(4_890);
  expect(many / few).toBeLessThan(7);
});
