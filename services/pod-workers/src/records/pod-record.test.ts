import { expect, test } from '@jest/globals';
import { workerStates } from '@kubus/contracts';
import * as fc from 'fast-check';
import { podRecordSchema } from './pod-record.ts';

const text = fc.string({ maxLength: 8 });
const records = fc.record(
  {
    version: fc.constant(1 as const),
    ref: fc.record({ uid: text, name: text, namespace: text }),
    machine: fc.record(
      {
        state: fc.constantFrom(...workerStates),
        graceSeconds: fc.nat(),
        reason: text,
        forget: fc.boolean(),
      },
      { requiredKeys: ['state', 'forget'] },
    ),
    backOffs: fc.dictionary(
      text.filter((key) => key !== '__proto__'),
      fc.record({ waitMs: fc.nat(), updatedAt: fc.double({ min: 0, max: 1e13, noNaN: true }).map((ms) => ms + 0) }),
      { noNullPrototype: true },
    ),
    status: fc.record({ phase: fc.constantFrom('Pending', 'Running', 'Failed') }),
  },
  { requiredKeys: ['version', 'ref', 'machine', 'backOffs'] },
);

test('a record read from its file equals the written one', () => {
  fc.assert(
    fc.property(records, (record) => {
      expect(podRecordSchema.parse(JSON.parse(JSON.stringify(record)))).toEqual(record);
    }),
  );
});

test.each([
  ['of another version', { version: 2 }],
  ['with an unknown state', { machine: { state: 'resting', forget: false } }],
  ['without a pod', { ref: undefined }],
])('a record %s is invalid', (_what, change) => {
  const good = {
    version: 1,
    ref: { uid: 'u', name: 'n', namespace: 'd' },
    machine: { state: 'syncing', forget: false },
    backOffs: {},
  };
  expect(podRecordSchema.safeParse(good).success).toBe(true);
  expect(podRecordSchema.safeParse({ ...good, ...change }).success).toBe(false);
});
