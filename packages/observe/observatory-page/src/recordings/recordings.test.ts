import { expect, test } from '@jest/globals';
import { recordingNameSchema } from '@kubus/contracts/observatory';
import fc from 'fast-check';
import { missingOf } from './completeness.ts';
import { nameOfFile, nameProblem } from './recording-name.ts';

test('a recording without losses is complete; otherwise the losses are named', () => {
  expect(missingOf({ droppedByBroker: 0, neverStored: 0, unreadable: 0 })).toEqual([]);
  expect(missingOf({ droppedByBroker: 3, neverStored: 0, unreadable: 1 })).toEqual([
    '3 dropped by the broker',
    '1 unreadable',
  ]);
});

test('the page refuses exactly the names that the observatory refuses', () => {
  const near = fc.string({ unit: fc.constantFrom('a', 'Z', '9', '.', '-', '_', '~', ' ', 'é'), maxLength: 70 });
  fc.assert(
    fc.property(near, (name) => {
      expect(nameProblem(name, []) === undefined).toBe(recordingNameSchema.safeParse(name).success);
    }),
  );
  expect(nameProblem('a', ['a'])).toContain('already');
});

test('every file gets a valid, unused name', () => {
  fc.assert(
    fc.property(fc.string(), fc.array(fc.string(), { maxLength: 3 }), (file, others) => {
      const taken = [...others, nameOfFile(file, [])];
      const name = nameOfFile(file, taken);
      expect(recordingNameSchema.safeParse(name).success).toBe(true);
      expect(taken).not.toContain(name);
    }),
  );
  expect(nameOfFile('node 1 (copy).kubus', [])).toBe('node-1--copy-');
});
