import { expect, test } from '@jest/globals';
import { KubusError } from '@kubus/ports';
import { callByName } from '../src/index.ts';

test('a call is made by its name, and nothing for a name that the core does not have', () => {
  const calls = { double: (value: number) => 2 * value };
  expect(callByName(calls, 'double', 21)).toBe(42);
  for (const name of ['triple', 'toString', 'constructor']) {
    expect(() => callByName(calls, name, 1)).toThrow(KubusError);
  }
});
