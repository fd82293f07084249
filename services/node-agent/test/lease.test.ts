import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { LEASE, Member, NODE } from './member.ts';

let member: Member;
beforeEach(async () => {
  member = await Member.make();
  member.becomeReady();
  await member.start();
  await member.server.waitFor(LEASE, () => true);
});
afterEach(() => member.close());

const renewedAt = (): number => Date.parse(member.server.get(LEASE)?.spec?.['renewTime'] as string);

test('the lease belongs to the Node object, and is renewed after a quarter of its duration', async () => {
  const node = member.server.get(NODE);
  const lease = await member.server.waitFor(LEASE, () => true);
  expect(lease).toMatchObject({
    metadata: { ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: 'node0', uid: node?.metadata.uid }] },
    spec: { holderIdentity: 'node0', leaseDurationSeconds: 40, renewTime: '2030-01-01T00:00:00.000000Z' },
  });
  for (let round = 1; round <= 3; round++) {
    await member.pass(10_200);
    expect(renewedAt()).toBe(member.clock.now());
    expect(member.requests('leases', 'update')).toHaveLength(round);
  }
  expect(member.server.requests.filter(({ verb, path }) => verb === 'get' && path.includes('leases'))).toHaveLength(1);
});

test('a lease that another client has written or deleted is read again', async () => {
  await member.settle();
  member.server.patch(LEASE, { spec: { holderIdentity: 'somebody' } });
  await member.pass(10_200);
  expect(member.server.get(LEASE)?.spec).toMatchObject({ holderIdentity: 'node0' });
  expect(renewedAt()).toBe(member.clock.now());
  member.server.delete(LEASE);
  await member.pass(10_200);
  expect(renewedAt()).toBe(member.clock.now());
});

test('a failed renewal is retried with growing delays', async () => {
  await member.settle();
  const fault = member.server.inject({
    when: ({ verb, path }) => verb !== 'watch' && path.includes('leases'),
    fault: { kind: 'answer', code: 500 },
  });
  await member.pass(10_200);
  // The write, and a read that checks whether there is a lease.
  expect(fault.hits).toBe(2);
  for (const [index, wait] of [100, 200, 400, 800, 1_600, 3_200, 6_400, 7_000, 7_000].entries()) {
    await member.pass(wait - 1);
    expect(fault.hits).toBe(index + 2);
    await member.pass(1);
    expect(fault.hits).toBe(index + 3);
  }
  fault.remove();
  await member.pass(7_000);
  expect(renewedAt()).toBe(member.clock.now());
});
