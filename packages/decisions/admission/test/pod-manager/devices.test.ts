import { beforeEach, expect, test } from '@jest/globals';
import type { Pod } from '@kubus/contracts';
import { pod as makePod } from '@kubus/pod-lifecycle/testing';
import { Loop as BaseLoop, NOW } from './loop.ts';
import { node } from './small-node.ts';

const RESOURCE = 'example.com/device';

/** The steps of a pod with devices until it is started, or rejected. */
class Loop extends BaseLoop {
  /** The work of a pod that its source desires now. */
  want(pod: Pod): string | undefined {
    this.desire(pod);
    return this.said(pod.metadata.uid);
  }

  said(uid: string): string | undefined {
    const work = this.works.get(uid);
    return work && [work.work, work.failure?.reason].filter((part) => part !== undefined).join(' ');
  }

  /** The pods that wait for their devices. */
  get waiting(): string[] {
    return this.state.podsWithoutDevices.map(({ metadata }) => metadata.uid);
  }

  /** A device plugin reports so many devices. */
  hasDevices(count: number, gone = false): void {
    const devices = Array.from({ length: count }, (_, index) => ({ id: String(index), healthy: true }));
    this.state.deviceResource({ resource: RESOURCE, devices, gone });
  }

  answer(uid: string, reason?: string): string | undefined {
    this.state.devices(uid, reason === undefined ? undefined : { reason, message: 'why' });
    this.apply(this.state.decide(uid, NOW));
    return this.said(uid);
  }
}

function having(uid: string, count: string, spec: Partial<Pod['spec']> = {}): Pod {
  const amounts = { [RESOURCE]: count };
  const containers = [{ name: 'c', resources: { limits: amounts, requests: amounts } }];
  return makePod({ containers, ...spec }, { uid, name: uid });
}

let loop: Loop;

beforeEach(() => {
  loop = new Loop({ sources: ['api'] }).known();
});

test('a pod is started when its devices are allocated; the allocation decides whether there are enough', () => {
  loop.hasDevices(2);
  expect(loop.want(having('a', '2'))).toBeUndefined();
  expect(loop.want(having('b', '3'))).toBeUndefined();
  expect(loop.waiting).toEqual(['a', 'b']);
  expect(loop.answer('a')).toBe('sync');
  expect(loop.answer('b', 'UnexpectedAdmissionError')).toBe('reject UnexpectedAdmissionError');
  expect(loop.waiting).toEqual([]);
});

test('a disconnected plugin is still asked, until it has been disconnected for so long that it has no devices left', () => {
  loop.hasDevices(1, true);
  expect(loop.want(having('a', '1'))).toBeUndefined();
  loop.hasDevices(0, true);
  expect(loop.want(having('b', '1'))).toBe(`reject OutOf${RESOURCE}`);
  loop.hasDevices(0);
  expect(loop.want(having('c', '1'))).toBeUndefined();
  expect(loop.waiting).toEqual(['a', 'c']);
});

test('a pod without devices is rejected permanently, and its resources are free', () => {
  loop.hasDevices(1);
  loop.want(having('a', '1'));
  expect(loop.answer('a', 'UnexpectedAdmissionError')).toBe('reject UnexpectedAdmissionError');
  loop.restart().desire(having('a', '1'));
  loop.hasDevices(1);
  expect(loop.known().said('a')).toBe('reject UnexpectedAdmissionError');
  loop.want(having('b', '1'));
  expect(loop.waiting).toEqual(['b']);
});

test('resources that no device plugin has ever reported do not prevent admission', () => {
  expect(loop.want(having('a', '5'))).toBeUndefined();
  expect(loop.answer('a')).toBe('sync');
});

test('after a restart, devices are requested again only for pods without an answer', () => {
  loop.want(having('a', '1'));
  loop.want(having('b', '1'));
  loop.answer('b');
  const next = loop.restart();
  for (const uid of ['a', 'b']) next.desire(having(uid, '1'));
  expect(next.known().waiting).toEqual(['a']);
  expect([next.said('a'), next.said('b')]).toEqual([undefined, 'sync']);
});

test('an answer for a pod that does not wait for devices changes nothing', () => {
  const plain = makePod({ containers: [{ name: 'c' }] }, { uid: 'plain', name: 'plain' });
  expect(loop.want(plain)).toBe('sync');
  expect(loop.answer('plain', 'UnexpectedAdmissionError')).toBe('sync');
  loop.want(having('gone', '1'));
  loop.drop('gone');
  expect(loop.answer('gone')).toBeUndefined();
  expect(loop.waiting).toEqual([]);
});

test('no pod is preempted for the devices of a critical pod, which requests them after the pods that use its CPU have ended', () => {
  loop.hasDevices(1);
  const whole = { cpu: node.allocatable['cpu'] ?? '', [RESOURCE]: '1' };
  const critical = { priorityClassName: 'system-node-critical', priority: 2_000_001_000 };
  loop.want(having('small', '1'));
  loop.answer('small');
  expect(loop.want(having('greedy', '1', critical))).toBeUndefined();
  expect(loop.said('small')).toBe('sync');
  expect(loop.answer('greedy', 'UnexpectedAdmissionError')).toBe('reject UnexpectedAdmissionError');
  const containers = [{ name: 'c', resources: { limits: whole, requests: whole } }];
  loop.want(makePod({ containers }, { uid: 'large', name: 'large' }));
  loop.answer('large');
  loop.want(makePod({ containers, ...critical }, { uid: 'critical', name: 'critical' }));
  expect([loop.said('large'), loop.waiting]).toEqual(['evict Preempting', []]);
  loop.worker('large', 'terminated');
  expect(loop.waiting).toEqual(['critical']);
  expect(loop.answer('critical')).toBe('sync');
});

test('a pod that wants CPUs for itself is refused by their manager first, though the node has too few anyway', () => {
  const exclusive = { cpus: true, memory: false };
  loop = new Loop({ sources: ['api'], node: { ...node, exclusive } }).known();
  const wanting = (uid: string, cpu: string) => {
    const amounts = { cpu, memory: '1Mi' };
    return makePod(
      { containers: [{ name: 'c', resources: { limits: amounts, requests: amounts } }] },
      { uid, name: uid },
    );
  };
  expect(loop.want(wanting('a', '3'))).toBeUndefined();
  expect(loop.want(wanting('b', '3'))).toBeUndefined();
  expect(loop.want(wanting('c', '2'))).toBeUndefined();
  expect(loop.waiting).toEqual(['a', 'b', 'c']);
  expect(loop.answer('a', 'UnexpectedAdmissionError')).toBe('reject UnexpectedAdmissionError');
  expect(loop.answer('b')).toBe('reject OutOfcpu');
  expect(loop.answer('c')).toBe('sync');
});
