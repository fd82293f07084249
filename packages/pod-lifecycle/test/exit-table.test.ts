import { describe, expect, test } from '@jest/globals';
import type { Container, Pod, RuntimeContainer } from '@kubus/contracts';
import { type PodActions, podActions } from '../src/index.ts';
import { exited, pod, run, runtime } from './states.ts';

/**
 * What follows when a container has ended, by its kind, the restart policies of its pod and of itself, its restart rules
 * and its exit code (kubelet behaviour 1.5: init order, regular container restart, RestartAllContainers):
 *
 * - `again`: it is started again, and nothing else is done
 * - `next`: an init container is done, and what comes after it is started
 * - `over`: it is not started again; the pod ends when nothing else runs, after a failed init container in any case
 * - `all`: every container begins anew
 */
type Outcome = 'again' | 'next' | 'over' | 'all';

const EXIT_CODES = [0, 1, 42] as const;
const POLICIES = ['Always', 'OnFailure', 'Never'] as const;
type Policy = (typeof POLICIES)[number];
type Outcomes = readonly [Outcome, Outcome, Outcome];

interface Row {
  /** The pod's policy; undefined: whatever it is, since the container has its own. */
  readonly of: Policy | undefined;
  readonly own?: Policy;
  readonly rule?: readonly [
    action: 'Restart' | 'RestartAllContainers',
    operator: 'In' | 'NotIn',
    values: readonly number[],
  ];
  /** By exit code, in the order of {@link EXIT_CODES}. Undefined: an init container with this policy is a sidecar. */
  readonly init: Outcomes | undefined;
  readonly regular: Outcomes;
}

const [again, next, over, all] = ['again', 'next', 'over', 'all'] as const;
const onCode42 = ['In', [42]] as const;

const rows: readonly Row[] = [
  { of: 'Always', init: [next, again, again], regular: [again, again, again] },
  { of: 'OnFailure', init: [next, again, again], regular: [over, again, again] },
  { of: 'Never', init: [next, over, over], regular: [over, over, over] },
  { of: undefined, own: 'Always', init: undefined, regular: [again, again, again] },
  { of: undefined, own: 'OnFailure', init: [next, again, again], regular: [over, again, again] },
  { of: undefined, own: 'Never', init: [next, over, over], regular: [over, over, over] },
  rule('Never', ['Restart', ...onCode42], [next, over, again], [over, over, again]),
  rule('Never', ['Restart', 'NotIn', [42]], [next, again, over], [again, again, over]),
  rule('Never', ['Restart', 'In', [0]], [next, over, over], [again, over, over]),
  rule('Never', ['RestartAllContainers', ...onCode42], [next, over, all], [over, over, all]),
  rule('OnFailure', ['RestartAllContainers', ...onCode42], [next, again, all], [over, again, all]),
  rule('OnFailure', ['Restart', 'In', [0]], [next, again, again], [again, again, again]),
  rule('Always', ['Restart', ...onCode42], undefined, [again, again, again]),
  rule('Always', ['RestartAllContainers', ...onCode42], undefined, [again, again, all]),
];

function rule(own: Policy, of: Row['rule'], init: Row['init'], regular: Outcomes): Row {
  return { of: undefined, own, ...(of !== undefined && { rule: of }), init, regular };
}

/** A pod around the container `x`, and what the runtime has of the others. */
interface Shape {
  readonly title: string;
  readonly spec: (x: Container) => Partial<Pod['spec']>;
  readonly others: readonly RuntimeContainer[];
  /** What comes after `x` when it is an init container. */
  readonly following?: string;
  /** Another regular container runs. */
  readonly company?: boolean;
}

const image = 'busybox';
const main = { name: 'main', image };
const side = { name: 'side', image, restartPolicy: 'Always' };
const sideRuns = run({ name: 'side' });
const initDone = exited(0, { name: 'init' });

const regularShapes: readonly Shape[] = [
  { title: 'alone', spec: (x) => ({ containers: [x] }), others: [] },
  { title: 'with a sidecar', spec: (x) => ({ initContainers: [side], containers: [x] }), others: [sideRuns] },
  {
    title: 'after an init container, with a sidecar',
    spec: (x) => ({ initContainers: [{ name: 'init', image }, side], containers: [x] }),
    others: [sideRuns, initDone],
  },
  {
    title: 'beside another one and a sidecar',
    spec: (x) => ({ initContainers: [side], containers: [main, x] }),
    others: [run({ name: 'main' }), sideRuns],
    company: true,
  },
  {
    title: 'beside another one that is over',
    spec: (x) => ({ containers: [{ ...main, restartPolicy: 'Never' }, x] }),
    others: [exited(1, { name: 'main' })],
  },
];

const initShapes: readonly Shape[] = [
  {
    title: 'before the regular ones',
    spec: (x) => ({ initContainers: [x], containers: [main] }),
    others: [],
    following: 'main#0',
  },
  {
    title: 'between a sidecar and another one',
    spec: (x) => ({ initContainers: [side, x, { name: 'last', image }], containers: [main] }),
    others: [sideRuns],
    following: 'last#0',
  },
  {
    title: 'before a sidecar',
    spec: (x) => ({ initContainers: [{ name: 'init', image }, x, side], containers: [main] }),
    others: [initDone],
    following: 'side#0',
  },
];

const sidecarShapes: readonly Shape[] = [
  {
    title: 'while an init container runs',
    spec: (x) => ({ initContainers: [x, { name: 'init', image }], containers: [main] }),
    others: [run({ name: 'init' })],
  },
  {
    title: 'while a regular one runs',
    spec: (x) => ({ initContainers: [x, { name: 'init', image }], containers: [main] }),
    others: [run({ name: 'main' }), initDone],
  },
  {
    title: 'between other sidecars',
    spec: (x) => ({ initContainers: [side, x, { ...side, name: 'late' }], containers: [main] }),
    others: [run({ name: 'main' }), sideRuns, run({ name: 'late' })],
  },
];

function containerOf({ own, rule: ruled }: Row): Container {
  const [action = 'Restart', operator = 'In', values = []] = ruled ?? [];
  return {
    name: 'x',
    image,
    ...(own !== undefined && { restartPolicy: own }),
    ...(ruled !== undefined && { restartPolicyRules: [{ action, exitCodes: { operator, values: [...values] } }] }),
  };
}

function decide(shape: Shape, x: Container, restartPolicy: Policy, ended: RuntimeContainer): PodActions {
  const wanted = pod({ ...shape.spec(x), restartPolicy });
  return podActions(wanted, runtime([ended, ...shape.others]), { restartAllContainers: true });
}

/** What a decision comes to, as one text. */
function told({ killPod, restartAll, createSandbox, stop, start }: PodActions): string {
  if (createSandbox !== undefined) return 'another sandbox';
  if (restartAll) return 'begins anew';
  const words = [
    ...(killPod ? ['ends'] : []),
    ...stop.map(({ container }) => `stop ${container.id}`),
    ...start.map(({ container, attempt }) => `${container.name}#${attempt}`),
  ];
  return words.join(' ') || 'goes on';
}

function expected(outcome: Outcome, { following = '', company = false }: Shape): string {
  switch (outcome) {
    case 'again':
      return 'x#1';
    case 'next':
      return following;
    case 'all':
      return 'begins anew';
    case 'over':
      return company ? 'goes on' : 'ends';
  }
}

/** Every row under every policy of the pod that it is about, with every exit code. */
const combinations = rows.flatMap((row) =>
  (row.of === undefined ? POLICIES : [row.of]).flatMap((policy) =>
    EXIT_CODES.map((code, index) => ({ row, policy, code, index, x: containerOf(row) })),
  ),
);

function name({ own, rule: ruled }: Row, policy: Policy, code: number): string {
  return `pod ${policy}, own ${own ?? '-'}, rule ${ruled?.flat().join(' ') ?? '-'}, exit code ${code}`;
}

describe.each(regularShapes.map((shape) => [shape.title, shape] as const))(
  'a regular container %s',
  (_title, shape) => {
    test.each(combinations.map((one) => [name(one.row, one.policy, one.code), one] as const))(
      '%s',
      (_name, { row, policy, code, index, x }) => {
        const outcome = row.regular[index] ?? over;
        expect(told(decide(shape, x, policy, exited(code, { name: 'x' })))).toBe(expected(outcome, shape));
      },
    );
  },
);

describe.each(initShapes.map((shape) => [shape.title, shape] as const))('an init container %s', (_title, shape) => {
  const inits = combinations.filter(({ row }) => row.init !== undefined);
  test.each(inits.map((one) => [name(one.row, one.policy, one.code), one] as const))(
    '%s',
    (_name, { row, policy, code, index, x }) => {
      const outcome = row.init?.[index] ?? over;
      expect(told(decide(shape, x, policy, exited(code, { name: 'x' })))).toBe(expected(outcome, shape));
    },
  );

  test.each(POLICIES)('that ran out of memory has failed, though it says 0: pod %s', (policy) => {
    const ended = exited(0, { name: 'x', reason: 'OOMKilled' });
    const outcome = policy === 'Never' ? over : again;
    expect(told(decide(shape, { name: 'x', image }, policy, ended))).toBe(expected(outcome, shape));
  });
});

describe.each(sidecarShapes.map((shape) => [shape.title, shape] as const))('a sidecar %s', (_title, shape) => {
  test.each(POLICIES.flatMap((policy) => EXIT_CODES.map((code) => [policy, code] as const)))(
    'comes back: pod %s, exit code %i',
    (policy, code) => {
      const ended = exited(code, { name: 'x' });
      expect(told(decide(shape, { ...side, name: 'x' }, policy, ended))).toBe('x#1');
    },
  );

  test.each(EXIT_CODES.map((code) => [code, code === 42 ? 'begins anew' : 'x#1'] as const))(
    'with a rule for all containers and exit code %i: %s',
    (code, outcome) => {
      const x = containerOf(rule('Always', ['RestartAllContainers', ...onCode42], undefined, [again, again, all]));
      expect(told(decide(shape, x, 'Never', exited(code, { name: 'x' })))).toBe(outcome);
    },
  );
});

test.each(EXIT_CODES)('a sidecar that ended with %i does not come back when the work of its pod is done', (code) => {
  const wanted = pod({ restartPolicy: 'Never', initContainers: [side], containers: [main] });
  const state = runtime([exited(0, { name: 'main' }), exited(code, { name: 'side' })]);
  expect(told(podActions(wanted, state))).toBe('ends');
});
