import { describe, expect, test } from '@jest/globals';
import { allocationOf } from '../../src/allocation.ts';
import { podLimits, podMemoryLimit } from '@kubus/cgroup-config';
import type { Container, Pod, RuntimeContainer } from '@kubus/contracts';
import { exited, pod as makePod, run, runtime } from '@kubus/pod-lifecycle/testing';
import fc from 'fast-check';
import { type PodSizes, type ResizePlan, noSizes, resizePlan, sizeOf } from '../../src/index.ts';

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

/** The sizes of a pod that has all that it requests. */
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
      const { cpuShares, cpu } = podLimits(step.pod);
      const quota = typeof cpu === 'object' ? cpu.quotaUs : 0n;
      return `pod ${String(cpuShares)} ${quota / 100n} ${(podMemoryLimit(step.pod) ?? 0n) / MI}`;
    }
    const { cpu = '-', memory = '-' } = step.container.resources?.limits ?? {};
    return `${step.run.id} ${cpu} ${memory}`;
  });
}

describe('the steps of a resize', () => {
  test.each<[string, Sizes, Sizes, string[]]>([
    ['without a change', { a: [1000, 64] }, { a: [1000, 64] }, []],
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
      'to more of one resource and less of the other: memory before CPU',
      { a: [2000, 64] },
      { a: [1000, 128] },
      ['pod 2048 2000 128', 'a-0 2000m 128Mi', 'a-0 1000m 128Mi', 'pod 1024 2000 128', 'pod 1024 1000 128'],
    ],
    [
      'from one container to another: the decrease comes first, and the pod is unchanged',
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

  test('reach the allocation, and the pod never has less memory than its containers', () => {
    fc.assert(
      fc.property(sizes, sizes, (before, after) => {
        const { steps } = planned(before, after);
        const had = podOf(before);
        let whole: Parameters<typeof podLimits>[0] = had;
        const held = new Map(had.spec.containers.map(({ name, resources }) => [name, resources?.limits]));
        for (const step of steps) {
          if (step.kind === 'cgroup') whole = step.pod;
          else held.set(step.container.name, step.container.resources?.limits);
          const memory = [...held.values()].reduce((sum, limits) => sum + parseInt(limits?.['memory'] ?? '0', 10), 0);
          expect(BigInt(memory) * MI <= (podMemoryLimit(whole) ?? 0n)).toBe(true);
        }
        const wanted = podOf(after);
        expect(podLimits(whole)).toEqual(podLimits(wanted));
        expect([...held]).toEqual(wanted.spec.containers.map(({ name, resources }) => [name, resources?.limits]));
      }),
    );
  });

  test('are none when the resize is complete', () => {
    fc.assert(
      fc.property(sizes, (after) => {
        expect(planned(after, after)).toMatchObject({ inProgress: false, steps: [], smaller: [] });
      }),
    );
  });
});

describe('a container', () => {
  const resizePolicy = [{ resourceName: 'memory', restartPolicy: 'RestartContainer' }];

  test('is restarted for a resource whose resize policy requires it; until then the pod keeps its size', () => {
    const less = planned({ a: [1000, 128] }, { a: [1000, 64] }, { resizePolicy });
    expect(less).toMatchObject({ inProgress: true, steps: [], restarts: new Set(['a-0']), smaller: [] });
    const more = planned({ a: [1000, 64] }, { a: [1000, 128] }, { resizePolicy });
    expect([written(more), [...more.restarts]]).toEqual([['pod 1024 1000 128'], ['a-0']]);
    const other = planned({ a: [1000, 64] }, { a: [2000, 64] }, { resizePolicy });
    expect([written(other).at(-1), [...other.restarts]]).toEqual(['a-0 2000m 64Mi', []]);
  });

  test('that has ended gets its new size at its next start', () => {
    const [had, wanted] = [podOf({ a: [1000, 64] }), podOf({ a: [1000, 128] })];
    const plan = resizePlan(wanted, given(had), runtime([exited(1, { name: 'a' })]));
    expect([written(plan), plan.settled]).toEqual([['pod 1024 1000 128'], ['a']]);
  });

  test('about which nothing is known gets its size without a restart', () => {
    const wanted = podOf({ a: [1000, 64] }, { resizePolicy });
    const plan = resizePlan(wanted, noSizes, runtime(running(wanted)));
    expect(plan).toMatchObject({ inProgress: false, restarts: new Set() });
    expect(written(plan)).toEqual(['a-0 - 64Mi', 'a-0 1000m 64Mi']);
  });

  test('that is still to be created is not part of a resize', () => {
    expect(resizePlan(podOf({ a: [1000, 64] }), noSizes, undefined)).toMatchObject({ inProgress: false, steps: [] });
  });
});

test('memory limits that are lowered are listed in bytes, for the pod and its running containers', () => {
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
