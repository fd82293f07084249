import { expect, test } from '@jest/globals';
import { MemoryRecords } from '@kubus/ports/testing';
import { SharedRecords } from '../src/index.ts';

test('the owner of a record in an older term can no longer write, remove or claim it', async () => {
  const store = new MemoryRecords();
  const [one, other] = [new SharedRecords(store, 'w-0'), new SharedRecords(store, 'w-1')];
  await one.put('a', 1, { waits: 1 });
  expect(await other.take('a', 2)).toEqual({ waits: 1, term: 1, holder: 'w-0' });
  const taken = { code: 'ownership-lost', context: { key: 'a', term: 1, present: 2 } };
  await expect(one.put('a', 1, { waits: 2 })).rejects.toMatchObject(taken);
  await expect(one.delete('a', 1)).rejects.toMatchObject(taken);
  await expect(one.take('a', 1)).rejects.toMatchObject(taken);
  expect([...(await one.load())]).toEqual([['a', { waits: 1, term: 2, holder: 'w-1' }]]);
  expect(await one.keys()).toEqual(['a']);
  await other.put('a', 2, { waits: 3 });
  await other.delete('a', 2);
  expect(await one.take('a', 1)).toBeUndefined();
});
