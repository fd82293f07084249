import { expect, test } from '@jest/globals';
import { SpareDescriptors } from './spare-descriptors.ts';

/** A process with a limit of descriptors. */
class Limited {
  limit = 20;
  readonly open = new Set<number>();

  take = (): number => {
    for (let number = 0; number < this.limit; number++) {
      if (this.open.has(number)) continue;
      this.open.add(number);
      return number;
    }
    throw Object.assign(new Error('too many open files'), { code: 'EMFILE' });
  };

  give = (number: number): void => {
    this.open.delete(number);
  };
}

test('the lowest descriptors are held, given back when no other is left, and held again when enough are', () => {
  const process = new Limited();
  const spare = new SpareDescriptors(process.take, process.give);
  expect([...process.open]).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
  const others = Array.from({ length: 12 }, process.take);
  expect(spare.look()).toBe(false);
  expect(process.open.size).toBe(12);
  // What was given back is no reason to say that all is well.
  expect(spare.look()).toBe(false);
  expect(process.open.size).toBe(12);
  for (const one of others.splice(0, 3)) process.give(one);
  expect(spare.look()).toBe(false);
  for (const one of others.splice(0, 1)) process.give(one);
  expect(spare.look()).toBe(true);
  expect(process.open.size).toBe(16);
  process.limit = 5;
  expect(spare.look()).toBe(false);
  expect(process.take()).toBe(0);
});
