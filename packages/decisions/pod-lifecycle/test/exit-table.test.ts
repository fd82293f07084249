import { describe, expect, test } from '@jest/globals';
import type { Container, Pod, RuntimeContainer } from '@kubus/contracts';
import { type PodActions, podActions } from '../src/index.ts';
import { exited, pod, run, runtime } from './states.ts';

/**
 * The consequence of a container's end, by its kind, the restart policies of its pod and its own, its restart rules
 * and its exit code (behaviour:container-actions: init order, regular container restart, RestartAllContainers):
 *
 * - `again`: it is started again, and nothing else is done
 * - `next`: an init container has succeeded, and what comes after it is started
 * - `over`: it is not started again; the pod ends when nothing else is running, and in any case after a failed init container
 * - `all`: all containers are restarted
 */
type Outcome = 'again' | 'next' | 'over' | 'all';

const EXIT_CODES = [0, 1, 42] as const;
const POLICIES = ['Always', 'OnFailure', 'Never'] as const;
type Policy = (typeof POLICIES)[number];
type Outcomes = readonly [Outcome, Outcome, Outcome];

interface Row {
  /** The pod's policy; undefined: any, because the container has its own. */
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

/** A pod with the container `x`, and the state of the other containers. */
interface Shape {
  readonly title: string;
  readonly spec: (x: Container) => Partial<Pod['spec']>;
  readonly others: readonly RuntimeContainer[];
  /** What comes after `x` when it is an init container. */
  readonly following?: string;
  /** Another regular container is running. */
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
    title: 'together with another one and a sidecar',
    spec: (x) => ({ initContainers: [side], containers: [main, x] }),
    others: [run({ name: 'main' }), sideRuns],
    company: true,
  },
  {
    title: 'together with another one that has ended',
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

/** A decision as one text. */
function outcomeOf({ killPod, restartAll, createSandbox, stop, start }: PodActions): string {
  if (createSandbox !== undefined) return 'another sandbox';
  if (restartAll) return 'restarts all';
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
      return 'restarts all';
    case 'over':
      return company ? 'goes on' : 'ends';
  }
}

/** Every row with every policy of the pod to which it applies, with every exit code. */
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
      'that has ended: %s',
      (_name, { row, policy, code, index, x }) => {
        const outcome = row.regular[index] ?? over;
        expect(outcomeOf(decide(shape, x, policy, exited(code, { name: 'x' })))).toBe(expected(outcome, shape));
      },
    );
  },
);

describe.each(initShapes.map((shape) => [shape.title, shape] as const))('an init container %s', (_title, shape) => {
  const inits = combinations.filter(({ row }) => row.init !== undefined);
  test.each(inits.map((one) => [name(one.row, one.policy, one.code), one] as const))(
    'that has ended: %s',
    (_name, { row, policy, code, index, x }) => {
      const outcome = row.init?.[index] ?? over;
      expect(outcomeOf(decide(shape, x, policy, exited(code, { name: 'x' })))).toBe(expected(outcome, shape));
    },
  );

  test.each(POLICIES)('that was OOM-killed has failed even with exit code 0: pod %s', (policy) => {
    const ended = exited(0, { name: 'x', reason: 'OOMKilled' });
    const outcome = policy === 'Never' ? over : again;
    expect(outcomeOf(decide(shape, { name: 'x', image }, policy, ended))).toBe(expected(outcome, shape));
  });
});

describe.each(sidecarShapes.map((shape) => [shape.title, shape] as const))('a sidecar %s', (_title, shape) => {
  test.each(POLICIES.flatMap((policy) => EXIT_CODES.map((code) => [policy, code] as const)))(
    'is restarted: pod %s, exit code %i',
    (policy, code) => {
      const ended = exited(code, { name: 'x' });
      expect(outcomeOf(decide(shape, { ...side, name: 'x' }, policy, ended))).toBe('x#1');
    },
  );

  test.each(EXIT_CODES.map((code) => [code, code === 42 ? 'restarts all' : 'x#1'] as const))(
    'with a RestartAllContainers rule and exit code %i: %s',
    (code, outcome) => {
      const x = containerOf(rule('Always', ['RestartAllContainers', ...onCode42], undefined, [again, again, all]));
      expect(outcomeOf(decide(shape, x, 'Never', exited(code, { name: 'x' })))).toBe(outcome);
    },
  );
});

test.each(EXIT_CODES)(
  'a sidecar that has ended with %i is not restarted when its pod has finished its work',
  (code) => {
    const wanted = pod({ restartPolicy: 'Never', initContainers: [side], containers: [main] });
    const state = runtime([exited(0, { name: 'main' }), exited(code, { name: 'side' })]);
    expect(outcomeOf(podActions(wanted, state))).toBe('ends');
  },
);
