import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import {
  type ClaimLedger,
  byDriver,
  claimKey,
  claimUsers,
  claimsOf,
  isLastUser,
  isPrepared,
  withDevices,
  withPod,
  withoutPod,
} from '../src/index.ts';

const claim = (name: string, uid = `uid-${name}`) => ({
  name,
  uid,
  namespace: 'default',
  drivers: ['a.test', 'b.test'],
});
const used = (ledger: ClaimLedger, name: string, pod: string): ClaimLedger => {
  const next = withPod(ledger, [claim(name)], pod);
  if ('problem' in next) throw new Error(next.problem);
  return next;
};

test('a claim is in the ledger from before its first driver is called until its last pod has left', () => {
  const key = claimKey(claim('g'));
  let ledger = used(new Map(), 'g', 'p');
  expect(ledger.get(key)).toEqual({
    ...{ uid: 'uid-g', name: 'g', namespace: 'default', pods: ['p'] },
    drivers: { 'a.test': undefined, 'b.test': undefined },
  });
  ledger = withDevices(ledger, key, 'a.test', []);
  expect([...ledger.values()].map(isPrepared)).toEqual([false]);
  ledger = used(withDevices(ledger, key, 'b.test', []), 'g', 'q');
  expect(claimsOf(ledger, 'q').map(isPrepared)).toEqual([true]);
  expect(claimsOf(ledger, 'q').map((one) => isLastUser(one, 'p'))).toEqual([false]);
  ledger = withoutPod(ledger, key, 'p');
  expect([claimsOf(ledger, 'p'), [...claimUsers(ledger)]]).toEqual([[], ['q']]);
  expect(withoutPod(ledger, key, 'q').size).toBe(0);
});

test('each driver has the claims of a pod that it has a part in', () => {
  const mine = { ...claim('h'), drivers: ['b.test'] };
  const ledger = withPod(new Map(), [claim('g'), mine], 'p');
  if ('problem' in ledger) throw new Error(ledger.problem);
  const found = [...byDriver(claimsOf(ledger, 'p'))].map(([driver, of]) => [driver, of.map(({ name }) => name)]);
  expect(found).toEqual([
    ['a.test', ['g']],
    ['b.test', ['g', 'h']],
  ]);
});

test('another claim of the same name waits until the earlier one is undone', () => {
  const what = 'old ResourceClaim with same name g and different UID uid-g still exists';
  expect(withPod(used(new Map(), 'g', 'p'), [claim('h'), claim('g', 'new')], 'q')).toEqual({
    problem: `${what} (previous pod force-deleted?!)`,
  });
});

test('whatever pods do, a claim is known exactly as long as some pod uses it, and its devices stay with it', () => {
  const names = fc.constantFrom('g', 'h', 'i');
  const pods = fc.constantFrom('p', 'q', 'r');
  const steps = fc.array(fc.tuple(fc.constantFrom('use', 'answer', 'leave'), names, pods), { maxLength: 40 });
  fc.assert(
    fc.property(steps, (all) => {
      let ledger: ClaimLedger = new Map();
      const users = new Map<string, Set<string>>();
      const answered = new Set<string>();
      for (const [step, name, pod] of all) {
        const key = claimKey(claim(name));
        const own = users.get(name) ?? new Set<string>();
        users.set(name, own);
        if (step === 'use') {
          ledger = used(ledger, name, pod);
          own.add(pod);
        } else if (step === 'answer') {
          ledger = withDevices(ledger, key, 'a.test', []);
          if (own.size > 0) answered.add(name);
        } else {
          ledger = withoutPod(ledger, key, pod);
          own.delete(pod);
          if (own.size === 0) answered.delete(name);
        }
      }
      for (const [name, own] of users) {
        const known = ledger.get(claimKey(claim(name)));
        expect(new Set(known?.pods)).toEqual(own);
        expect(known !== undefined).toBe(own.size > 0);
        expect(known?.drivers['a.test'] !== undefined).toBe(answered.has(name));
      }
    }),
  );
});
