import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import * as z from 'zod';
import { frozenCopy, payloadOf, valueOf, withPayload } from './payload.ts';

const inProcess = { keepsValues: true };
/** JSON has no text for `undefined` alone. */
const anyJson = fc.anything({ withDate: true }).filter((value) => value !== undefined);

describe('a frozen copy', () => {
  test('is what its JSON text would be parsed to, and has the same text', () => {
    fc.assert(
      fc.property(anyJson, (value) => {
        const text = JSON.stringify(value);
        expect(frozenCopy(value)).toEqual(JSON.parse(text));
        expect(JSON.stringify(frozenCopy(value))).toBe(text);
      }),
    );
  });

  test('has no negative zero, as JSON has none', () => {
    expect(frozenCopy([-0, { a: -0 }, -1])).toEqual([0, { a: 0 }, -1]);
  });

  test('can be changed nowhere, and does not follow the original', () => {
    const original = { list: [{ name: 'a' }] };
    const copy = frozenCopy(original) as typeof original;
    original.list[0] = { name: 'b' };
    expect(copy).toEqual({ list: [{ name: 'a' }] });
    expect(() => copy.list.push({ name: 'c' })).toThrow(TypeError);
    expect(() => Object.assign(copy.list[0] ?? {}, { name: 'c' })).toThrow(TypeError);
  });

  test('refuses what JSON refuses', () => {
    expect(() => frozenCopy({ of: 1n })).toThrow(TypeError);
  });
});

test('a payload for a broker is text, which is validated; one in the process is the value, which is not', () => {
  const type = z.object({ count: z.number() });
  const sent = payloadOf({}, { count: 1, more: true });
  expect(sent).toEqual({ data: '{"count":1,"more":true}' });
  expect(valueOf(type, sent)).toEqual({ count: 1 });
  expect(() => valueOf(type, payloadOf({}, { count: 'one' }))).toThrow(z.ZodError);

  const kept = withPayload({ subject: 's' }, payloadOf(inProcess, { count: 1 }));
  expect(valueOf(type, kept)).toBe(kept.value);
  expect(kept).toEqual({ subject: 's', value: { count: 1 }, data: '{"count":1}' });
});
