import { describe, expect, test } from '@jest/globals';
import { allocationOf } from '@kubus/admission';
import { podLimits } from '@kubus/cgroup-config';
import type { Container, Pod, RuntimeContainer } from '@kubus/contracts';
import { exited, pod as makePod, run, runtime } from '@kubus/pod-lifecycle/testing';
import fc from 'fast-check';
import { type PodSizes, type ResizePlan, noSizes, resizePlan, sizeOf } from '../src/index.ts';

/** CPU in thousandths and memory in Mi, as requests and as limits. */
type Size = readonly [cpu: number, memory: number];
type Sizes = Readonly<Record<string, Size>>;

const MI = 1024n * 1024n;

function podOf(sizes: Sizes, container: Partial<Container> = {}): Pod {
  const containers = Object.entries(sizes).map(([name, [cpu, memory]]) => {
    const amounts = { cpu: `${cpu}m`, memory: `${memory}Mi` };
    return { name, image: 'busybox', resources: { requests: amounts, limits: amounts }, ...container };
  });
  return makePod({ containers });
}

/** What a pod has when it was given all that it asks for. */
function given(pod: Pod): PodSizes {
  const containers = Object.fromEntries(pod.spec.containers.map((one) => [one.name, sizeOf(pod, one)]));
  return { cgroup: allocationOf(pod), containers };
}

function running(pod: Pod): RuntimeContainer[] {
  return pod.spec.containers.map(({ name }) => run({ name }));
}

function planned(before: Sizes, after: Sizes, container: Partial<Container> = {}): ResizePlan {
  const had = podOf(before, container);
  return resizePlan(podOf(after, container), given(had), runtime(running(had)));
}

/** `pod` with its shares, limit of CPU in thousandths and of memory in Mi; a container with its limits. */
function written({ steps }: ResizePlan): string[] {
  return steps.map((step) => {
    if (step.kind === 'cgroup') {
      const { cpuShares, cpu, memory = 0n } = podLimits(step.pod);
      return `pod ${cpuShares} ${(cpu?.quotaUs ?? 0n) / 100n} ${memory / MI}`;
    }
    const { cpu = '-', memory = '-' } = step.container.resources?.limits ?? {};
    return `${step.run.id} ${cpu} ${memory}`;
  });
}

describe('the steps of a resize', () => {
  test.each<[string, Sizes, Sizes, string[]]>([
    ['of nothing', { a: [1000, 64] }, { a: [1000, 64] }, []],
    ['to more memory', { a: [1000, 64] }, { a: [1000, 128] }, ['pod 1024 1000 128', 'a-0 1000m 128Mi']],
    ['to less memory', { a: [1000, 128] }, { a: [1000, 64] }, ['a-0 1000m 64Mi', 'pod 1024 1000 64']],
    [
      'to more CPU: limits before requests',
      { a: [1000, 64] },
      { a: [2000, 64] },
      ['pod 1024 2000 64', 'pod 2048 2000 64', 'a-0 2000m 64Mi'],
    ],
    [
      'to less CPU: limits after requests',
      { a: [2000, 64] },
      { a: [1000, 64] },
      ['a-0 1000m 64Mi', 'pod 1024 2000 64', 'pod 1024 1000 64'],
    ],
    [
      'to more of one and less of the other: memory before CPU',
      { a: [2000, 64] },
      { a: [1000, 128] },
      ['pod 2048 2000 128', 'a-0 2000m 128Mi', 'a-0 1000m 128Mi', 'pod 1024 2000 128', 'pod 1024 1000 128'],
    ],
    [
      'from one container to another: who gets less comes first, and the pod stays as it is',
      { a: [1000, 64], b: [1000, 128] },
      { a: [1000, 128], b: [1000, 64] },
      ['b-0 1000m 64Mi', 'a-0 1000m 128Mi'],
    ],
  ])('%s', (_, before, after, expected) => {
    const plan = planned(before, after);
    expect(written(plan)).toEqual(expected);
    expect(plan).toMatchObject({ inProgress: expected.length > 0, restarts: new Set(), settled: [] });
  });

  const size = fc.tuple(fc.integer({ min: 100, max: 4000 }), fc.integer({ min: 16, max: 512 }));
  const sizes = fc.record({ a: size, b: size });

  test('end where the pod is to be, and the pod never has less memory than its containers', () => {
    fc.assert(
      fc.property(sizes, sizes, (before, after) => {
        const { steps } = planned(before, after);
        const had = podOf(before);
        let whole = podLimits(had);
        const held = new Map(had.spec.containers.map(({ name, resources }) => [name, resources?.limits]));
        for (const step of steps) {
          if (step.kind === 'cgroup') whole = podLimits(step.pod);
          else held.set(step.container.name, step.container.resources?.limits);
          const memory = [...held.values()].reduce((sum, limits) => sum + parseInt(limits?.['memory'] ?? '0', 10), 0);
          expect(BigInt(memory) * MI <= (whole.memory ?? 0n)).toBe(true);
        }
        const wanted = podOf(after);
        expect(whole).toEqual(podLimits(wanted));
        expect([...held]).toEqual(wanted.spec.containers.map(({ name, resources }) => [name, resources?.limits]));
      }),
    );
  });

  test('are none when they have been done', () => {
    fc.assert(
      fc.property(sizes, (after) => {
        expect(planned(after, after)).toMatchObject({ inProgress: false, steps: [], smaller: [] });
      }),
    );
  });
});

describe('a container', () => {
  const resizePolicy = [{ resourceName: 'memory', restartPolicy: 'RestartContainer' }];

  test('is restarted for the resource whose policy says so; until then the pod keeps what it has', () => {
    const less = planned({ a: [1000, 128] }, { a: [1000, 64] }, { resizePolicy });
    expect(less).toMatchObject({ inProgress: true, steps: [], restarts: new Set(['a-0']), smaller: [] });
    const more = planned({ a: [1000, 64] }, { a: [1000, 128] }, { resizePolicy });
    expect([written(more), [...more.restarts]]).toEqual([['pod 1024 1000 128'], ['a-0']]);
    const other = planned({ a: [1000, 64] }, { a: [2000, 64] }, { resizePolicy });
    expect([written(other).at(-1), [...other.restarts]]).toEqual(['a-0 2000m 64Mi', []]);
  });

  test('that has ended has its new size from its next start on', () => {
    const [had, wanted] = [podOf({ a: [1000, 64] }), podOf({ a: [1000, 128] })];
    const plan = resizePlan(wanted, given(had), runtime([exited(1, { name: 'a' })]));
    expect([written(plan), plan.settled]).toEqual([['pod 1024 1000 128'], ['a']]);
  });

  test('of which nothing is known is told its size, and not restarted', () => {
    const wanted = podOf({ a: [1000, 64] }, { resizePolicy });
    const plan = resizePlan(wanted, noSizes, runtime(running(wanted)));
    expect(plan).toMatchObject({ inProgress: false, restarts: new Set() });
    expect(written(plan)).toEqual(['a-0 - 64Mi', 'a-0 1000m 64Mi']);
  });

  test('that is still to be made is no part of a resize', () => {
    expect(resizePlan(podOf({ a: [1000, 64] }), noSizes, undefined)).toMatchObject({ inProgress: false, steps: [] });
  });
});

test('memory limits that get smaller are named with their bytes, of the pod and of what runs', () => {
  const { smaller } = planned({ a: [1000, 128], b: [1000, 64] }, { a: [1000, 64], b: [500, 96] });
  expect(smaller.map(({ run: of, bytes }) => [of?.id, bytes / MI])).toEqual([
    [undefined, 160n],
    ['a-0', 64n],
  ]);
  const had = podOf({ a: [1000, 128] });
  const made = runtime([run({ name: 'a', state: 'created' })]);
  const { smaller: ofPod } = resizePlan(podOf({ a: [1000, 64] }), given(had), made);
  expect(ofPod).toEqual([{ run: undefined, bytes: 64n * MI }]);
});
