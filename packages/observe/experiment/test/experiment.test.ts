import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { stringify } from 'yaml';
import { ExperimentError, type NodeExperiment, parseExperiment, podsOf, schedule } from '../src/index.ts';

const template = { metadata: { name: 'web' }, spec: { containers: [{ name: 'main', image: 'busybox' }] } };
const document = {
  name: 'slow',
  workload: { pods: [{ count: 2, template }] },
  faults: [{ delay: 'runtime.fact.pod.*', by: '500ms', reader: 'sync-loop' }],
};

const parse = (changes: object = {}): NodeExperiment => nodeExperiment(stringify({ ...document, ...changes }));

function nodeExperiment(text: string): NodeExperiment {
  const experiment = parseExperiment(text, 'slow.yaml');
  if ('machine' in experiment) throw new Error('it is one of a described machine');
  return experiment;
}

function errorOf(text: string): string {
  try {
    parseExperiment(text, 'slow.yaml');
  } catch (error) {
    if (error instanceof ExperimentError) return error.message;
    throw error;
  }
  throw new Error('it was accepted');
}

const fault = (written: object) => ({ faults: [written] });
const twoArms = (first = 'early', second = 'late') => [{ name: first }, { name: second }];
const workload = (changes: object) => ({ workload: { ...document.workload, ...changes } });

describe('an experiment file', () => {
  test('requires few fields; the others have the documented defaults', () => {
    expect(parse()).toMatchObject({
      repetitions: 5,
      seed: 1,
      measure: ['start', 'restart', 'stop', 'cpu'],
      workload: { from: 'files', how: 'atOnce', until: 'ready', within: 60_000, stay: 0 },
      arms: [
        { name: 'baseline', faults: [], config: {} },
        {
          name: 'faults',
          faults: [
            {
              at: 0,
              rule: {
                match: { subject: 'runtime.fact.pod.*', reader: 'sync-loop' },
                what: { kind: 'delay', ms: 500 },
              },
            },
          ],
        },
      ],
    });
  });

  test.each<[object, object]>([
    [
      { drop: 'a.>', probability: 0.5, for: '2s', at: '1s' },
      { at: 1000, rule: { what: { kind: 'drop' }, when: { probability: 0.5, forMs: 2000 } } },
    ],
    [
      { duplicate: 'a.>', times: 3, every: 2 },
      { rule: { what: { kind: 'duplicate', times: 3 }, when: { everyNth: 2 } } },
    ],
    [{ reorder: 'a.>', window: 4, hold: '1s' }, { rule: { what: { kind: 'reorder', window: 4, holdMs: 1000 } } }],
    [
      { delay: 'a.>', by: '1s', jitter: '10ms', nth: [2] },
      { rule: { what: { kind: 'delay', ms: 1000, jitterMs: 10 }, when: { nth: [2] } } },
    ],
    [
      { pause: 'cri-bridge', for: '2s', at: '3s' },
      { at: 3000, service: 'cri-bridge', fault: { what: 'pause', forMs: 2000 } },
    ],
    [{ kill: 'sync-loop' }, { at: 0, service: 'sync-loop', fault: { what: 'kill' } }],
    [{ restart: 'sync-loop' }, { service: 'sync-loop', fault: { what: 'restart' } }],
  ])('has the fault %j', (written, expected) => {
    expect(parse(fault(written)).arms[1].faults).toMatchObject([expected]);
  });

  test.each<[object, RegExp]>([
    [{ name: 'Not so' }, /^slow\.yaml: name: must consist of lower-case/],
    [{ repetition: 3 }, /^slow\.yaml: the document: .*repetition/],
    [{ repetitions: 0 }, /^slow\.yaml: repetitions: /],
    [{ faults: [] }, /^slow\.yaml: faults: /],
    [{ faults: undefined }, /^slow\.yaml: faults: an experiment has either faults or arms/],
    [{ arms: twoArms() }, /^slow\.yaml: faults: an experiment has either faults or arms/],
    [{ faults: undefined, arms: twoArms('same', 'same') }, /^slow\.yaml: arms: both are called same/],
    [{ faults: undefined, arms: [{ name: 'one' }] }, /^slow\.yaml: arms: /],
    [{ podMemory: 'little' }, /^slow\.yaml: podMemory: "little" is not a quantity/],
    [{ measure: ['speed'] }, /^slow\.yaml: measure\[0\]: /],
    [workload({ within: '5' }), /^slow\.yaml: workload\.within: "5" is not a duration like 500ms/],
    [workload({ until: 'happy' }), /^slow\.yaml: workload\.until: /],
    [workload({ pods: [{ template: {} }] }), /^slow\.yaml: workload\.pods\[0\]\.template\.metadata: /],
    [
      workload({ pods: [{ template: { metadata: { name: 'a' }, spec: { containers: [] } } }] }),
      /^slow\.yaml: workload\.pods\[0\]\.template\.spec\.containers: /,
    ],
    [fault({ for: '1s' }), /^slow\.yaml: faults\[0\]: must have one of drop, delay, /],
    [fault({ drop: 'a', delay: 'b', by: '1s' }), /^slow\.yaml: faults\[0\]: must have one of /],
    [fault({ delay: 'a' }), /^slow\.yaml: faults\[0\]\.by: /],
    [fault({ delay: 'a', by: 'soon' }), /^slow\.yaml: faults\[0\]\.by: "soon" is not a duration/],
    [fault({ drop: 'a..b' }), /^slow\.yaml: faults\[0\]: match\.subject: "a\.\.b" is not a subject pattern/],
    [fault({ drop: 'a', by: '1s' }), /^slow\.yaml: faults\[0\]: .*by/],
    [
      fault({ drop: 'a', reader: 'nobody' }),
      /^slow\.yaml: faults\[0\]: match\.reader: "nobody" is neither a service nor an instance/,
    ],
    [fault({ pause: 'prober' }), /^slow\.yaml: faults\[0\]\.for: /],
  ])('that is invalid is refused with its name and the field: %j', (changes, expected) => {
    expect(errorOf(stringify({ ...document, ...changes }))).toMatch(expected);
  });

  test('has arms that differ in faults and in the configuration of their node', () => {
    const {
      arms: parsed,
      podMemory,
      workload: work,
    } = parse({
      faults: undefined,
      podMemory: '200Mi',
      workload: { ...document.workload, from: 'api' },
      arms: [
        { name: 'early', config: { evictionHard: { 'memory.available': '100Mi' } } },
        { name: 'late', faults: [{ kill: 'sync-loop' }] },
      ],
    });
    expect([podMemory, work.from]).toEqual([200 * 1024 * 1024, 'api']);
    expect(parsed).toMatchObject([
      { name: 'early', faults: [], config: { evictionHard: { 'memory.available': '100Mi' } } },
      { name: 'late', faults: [{ service: 'sync-loop' }], config: {} },
    ]);
  });

  test('that is not YAML is refused with the line', () => {
    expect(errorOf('name: slow\nfaults: [\n')).toMatch(/^slow\.yaml: line \d: /);
    expect(errorOf('')).toMatch(/^slow\.yaml: the document: /);
  });
});

const arms = [{ name: 'baseline' }, { name: 'faults' }] as const;

describe('the schedule', () => {
  test('has each arm once in each repetition, and is the same for the same seed', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 50 }), fc.nat(), (repetitions, seed) => {
        const runs = schedule({ repetitions, seed, arms });
        expect(runs.map(({ number }) => number)).toEqual(runs.map((_, index) => index + 1));
        for (let repetition = 1; repetition <= repetitions; repetition++) {
          const both = runs.filter((run) => run.repetition === repetition).map(({ arm }) => arm);
          expect(both.sort()).toEqual(['baseline', 'faults']);
        }
        expect(schedule({ repetitions, seed, arms })).toEqual(runs);
      }),
    );
  });

  test('starts with each arm about equally often', () => {
    const first = schedule({ repetitions: 200, seed: 3, arms }).filter(
      ({ arm }, index) => index % 2 === 0 && arm === 'faults',
    );
    expect(first.length).toBeGreaterThan(60);
    expect(first.length).toBeLessThan(140);
  });

  test('gives each pod a unique name', () => {
    const experiment = parse(
      workload({
        pods: [
          { count: 3, template },
          { count: 2, template },
        ],
      }),
    );
    const names = schedule(experiment).flatMap((run) => podsOf(experiment, run).map(({ name }) => name));
    expect(names).toHaveLength(5 * 2 * 5);
    expect(new Set(names).size).toBe(names.length);
    expect(podsOf(experiment, { number: 7 })[0]).toEqual({
      name: 'web-7-0-0',
      manifest: { apiVersion: 'v1', kind: 'Pod', ...template, metadata: { name: 'web-7-0-0' } },
    });
  });
});
