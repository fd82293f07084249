import { expect, test } from '@jest/globals';
import { serviceNames } from '@kubus/contracts';
import { newFaultSchema, newServiceFaultSchema } from '@kubus/contracts/observatory';
import fc from 'fast-check';
import { disturbable } from '../theme/services.ts';
import {
  type FaultDraft,
  actions,
  choices,
  emptyDraft,
  faultOf,
  inForce,
  patternOfType,
  serviceFaultOf,
} from './fault-draft.ts';

const decimal = (min: number, max: number) => fc.double({ min, max, noNaN: true }).map(String);
const whole = (min: number, max: number) => fc.integer({ min, max }).map(String);
const orEmpty = (field: fc.Arbitrary<string>) => fc.oneof(fc.constant(''), field);
const services = orEmpty(fc.constantFrom(...disturbable, 'pod-workers-3', ' prober '));

/** Values that the fields accept. */
const draft = fc
  .record({
    action: fc.constantFrom(...actions),
    subject: fc.constantFrom('>', 'runtime.fact.pod.*', ' sync.fact.>'),
    by: decimal(0, 60_000),
    jitter: orEmpty(decimal(0, 60_000)),
    times: whole(1, 100),
    window: whole(2, 1000),
    hold: orEmpty(decimal(0.001, 60_000)),
    choice: fc.constantFrom(...choices),
    pod: orEmpty(fc.uuid()),
    source: services,
    reader: services,
    kind: fc.constantFrom('', 'fact', 'cmd', 'event', 'reply'),
    seconds: orEmpty(decimal(0.001, 1_000_000)),
  })
  .chain((fields): fc.Arbitrary<FaultDraft> => {
    const chosen = {
      all: fc.constant('left over'),
      probability: decimal(0.000_001, 1),
      every: whole(1, 1_000_000),
      nth: fc.constantFrom('1', '1,3', ' 2 , 5 '),
    };
    return chosen[fields.choice].map((text) => ({ ...fields, chosen: text }));
  });

test('values that the fields accept make a valid rule', () => {
  fc.assert(
    fc.property(draft, (fields) => {
      const parsed = newFaultSchema.safeParse(faultOf(fields));
      expect(parsed.error?.issues).toBeUndefined();
      expect(parsed.data?.what.kind).toBe(fields.action);
    }),
  );
});

test('a rule has only the fields that were filled in', () => {
  expect(faultOf({ ...emptyDraft, subject: 'a.*' })).toEqual({
    match: { subject: 'a.*' },
    what: { kind: 'delay', ms: 500 },
  });
  const fields = { action: 'reorder', window: '4', hold: '20', choice: 'nth', chosen: '1, 3', seconds: '1.5' } as const;
  expect(faultOf({ ...emptyDraft, ...fields, subject: '>', pod: 'u', reader: 'prober', kind: 'fact' })).toEqual({
    match: { subject: '>', pod: 'u', reader: 'prober', kind: 'fact' },
    what: { kind: 'reorder', window: 4, holdMs: 20 },
    when: { nth: [1, 3], forMs: 1500 },
  });
  expect(faultOf({ ...emptyDraft, action: 'drop', choice: 'probability', chosen: '0.1' })).toMatchObject({
    what: { kind: 'drop' },
    when: { probability: 0.1 },
  });
});

test.each([
  ['pause', { what: 'pause', forMs: 2500 }],
  ['kill', { what: 'kill' }],
  ['restart', { what: 'restart' }],
] as const)('%s is a valid action on a service', (what, fault) => {
  expect(serviceFaultOf(what, '2.5')).toEqual(fault);
  expect(newServiceFaultSchema.safeParse(fault).success).toBe(true);
});

test('the offered services are all that faults can affect', () => {
  const givers = ['launcher', 'observatory', 'cli'];
  expect([...disturbable].sort()).toEqual(serviceNames.filter((name) => !givers.includes(name)).toSorted());
});

test('texts', () => {
  expect(patternOfType('runtime.fact.pod/1')).toBe('runtime.fact.pod.*');
  expect([inForce(0, 0), inForce(1, 0), inForce(2, 1)]).toEqual([undefined, '1 active fault', '3 active faults']);
});
