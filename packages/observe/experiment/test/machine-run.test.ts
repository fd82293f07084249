import { describe, expect, test } from '@jest/globals';
import { type Machine, describedMachine, machineDescription } from '@kubus/exclusive';
import fc from 'fast-check';
import { stringify } from 'yaml';
import {
  ExperimentError,
  type MachineExperiment,
  type RunResult,
  machineRuns,
  markdownOf,
  parseExperiment,
  reportOf,
} from '../src/index.ts';

/** As the example. */
const example = {
  name: 'fragmentation',
  machine: 'machine.json',
  arrivals: { count: 300, every: '10s', stay: '90s', cpus: [1, 2, 4, 8, 12] },
  arms: [
    { name: 'packed' },
    { name: 'distributed', config: { cpuManagerPolicyOptions: { 'distribute-cpus-across-numa': 'true' } } },
  ],
  measure: ['fragmentation', 'used', 'refused', 'split'],
};

function parsed(changes: object = {}): MachineExperiment {
  const experiment = parseExperiment(stringify({ ...example, ...changes }), 'fragmentation.yaml');
  if (!('machine' in experiment)) throw new Error('it is one of a node');
  return experiment;
}

const arrivals = (changes: object) => ({ arrivals: { ...example.arrivals, ...changes } });

function described(description: unknown): Machine {
  const machine = describedMachine(machineDescription.parse(description));
  if ('problem' in machine) throw new Error(machine.problem);
  return machine;
}

const machine = described({
  ...{ apiVersion: 'kubus.dev/v1', kind: 'Machine' },
  sockets: [{ id: 0, cpus: '0-63' }],
  nodes: ['0-15', '16-31', '32-47', '48-63'].map((cpus, id) => ({ id, cpus, memory: 2 ** 34 })),
});
const oneNode = described({
  ...{ apiVersion: 'kubus.dev/v1', kind: 'Machine' },
  sockets: [{ id: 0, cpus: '0-15' }],
  nodes: [{ id: 0, cpus: '0-15', memory: 2 ** 34 }],
});

function runsOf(experiment: MachineExperiment, on = machine): RunResult[] {
  const runs = machineRuns(experiment, on);
  if ('problem' in runs) throw new Error(runs.problem);
  return runs;
}

test('the example in its smallest form: distributed CPUs are more fragmented, in every part of the time but the first', () => {
  const experiment = parsed({ repetitions: 3, ...arrivals({ count: 100 }) });
  const report = reportOf(experiment, runsOf(experiment));
  const [whole, first, ...later] = report.measures;
  expect(whole).toMatchObject({ measure: 'fragmentation', arms: [{ count: 3 }, { count: 3 }] });
  expect(first?.measure).toBe('fragmentation1');
  expect(whole?.meanDifference?.low).toBeGreaterThan(5);
  for (const { measure, arms } of later.slice(0, 9)) {
    const [packed, distributed] = arms;
    expect({ measure, more: (distributed.mean ?? 0) > (packed.mean ?? 0) }).toEqual({ measure, more: true });
  }
  const text = markdownOf(report);
  expect(text).toContain('  - cpuManagerPolicyOptions: {"distribute-cpus-across-numa":"true"}');
  expect(text).toMatch(/^\| fragmentation of CPUs from 90 to 100 % of the time, % \| packed \| 3 \| \d+\.\d/m);
});

describe('a run on a described machine', () => {
  const small = fc.record({
    seed: fc.nat(1000),
    repetitions: fc.constant(2),
    cpus: fc.array(fc.integer({ min: 1, max: 20 }), { minLength: 1, maxLength: 4 }),
    every: fc.integer({ min: 1, max: 30 }),
  });

  test('has percentages, and the parts of its time have the mean of the whole', () => {
    fc.assert(
      fc.property(small, ({ cpus, every, ...changes }) => {
        const experiment = parsed({ ...changes, ...arrivals({ count: 30, cpus, every: `${every}s`, memory: '1Gi' }) });
        for (const { values } of runsOf(experiment)) {
          for (const [value = Number.NaN] of Object.values(values)) {
            expect(value).toBeGreaterThanOrEqual(0);
            expect(value).toBeLessThanOrEqual(100);
          }
          const parts = Array.from({ length: 10 }, (_, part) => values[`fragmentation${part + 1}`]?.[0] ?? Number.NaN);
          const mean = parts.reduce((sum, part) => sum + part, 0) / parts.length;
          expect(values['fragmentation']?.[0]).toBeCloseTo(mean, 6);
        }
      }),
      { numRuns: 10 },
    );
  });

  test('is the same for the same seed, and its pods do not depend on the arm', () => {
    const same = { name: 'packed' };
    const experiment = parsed({ repetitions: 2, arms: [same, { name: 'again' }], ...arrivals({ count: 40 }) });
    const runs = runsOf(experiment);
    expect(runsOf(experiment)).toEqual(runs);
    const of = (repetition: number) => runs.filter((run) => run.repetition === repetition).map(({ values }) => values);
    expect(of(1)[0]).toEqual(of(1)[1]);
    expect(of(1)[0]).not.toEqual(of(2)[0]);
    expect(runsOf({ ...experiment, seed: 2 })).not.toEqual(runs);
  });

  test('is never fragmented or split with one NUMA node; what does not fit is refused', () => {
    const experiment = parsed({ repetitions: 1, ...arrivals({ count: 50, cpus: [4, 40] }) });
    for (const { values } of runsOf(experiment, oneNode)) {
      expect([values['fragmentation'], values['split']]).toEqual([[0], [0]]);
      expect(values['refused']?.[0]).toBeGreaterThan(20);
    }
  });

  test('with the policy single-numa-node no pod is on more nodes than it needs', () => {
    const config = { topologyManagerPolicy: 'single-numa-node' };
    const arms = [{ name: 'none' }, { name: 'single', config }];
    const experiment = parsed({ repetitions: 1, arms, ...arrivals({ count: 60 }) });
    const split = Object.fromEntries(runsOf(experiment).map(({ arm, values }) => [arm, values['split']?.[0]]));
    expect(split['none']).toBeGreaterThan(0);
    expect(split['single']).toBe(0);
  });
});

test.each<[object, RegExp]>([
  [{ workload: {} }, /^fragmentation\.yaml: the document: .*workload/],
  [arrivals({ every: '0s' }), /^fragmentation\.yaml: arrivals\.every: must be longer than 0/],
  [arrivals({ count: 10_001 }), /^fragmentation\.yaml: arrivals\.count: /],
  [arrivals({ memory: '-1' }), /^fragmentation\.yaml: arrivals\.memory: "-1" is not a quantity/],
  [{ arms: [{ name: 'a' }, { name: 'a' }] }, /^fragmentation\.yaml: arms: both have the same name/],
  [
    { arms: [{ name: 'a' }, { name: 'b', config: { evictionHard: {} } }] },
    /^fragmentation\.yaml: arms\[1\]\.config: .*evictionHard/,
  ],
  [{ measure: ['start'] }, /^fragmentation\.yaml: measure\[0\]: /],
])('an experiment on a machine is refused with the field: %j', (changes, expected) => {
  expect(() => parsed(changes)).toThrow(ExperimentError);
  expect(() => parsed(changes)).toThrow(expected);
});

test('settings with which a kubelet does not start are named with their arm', () => {
  const config = { cpuManagerPolicyOptions: { 'no-such-option': 'true' } };
  const runs = machineRuns(parsed({ arms: [{ name: 'a' }, { name: 'b', config }] }), machine);
  expect(runs).toMatchObject({ problem: expect.stringMatching(/^arm b: .*no-such-option/) as unknown });
});
