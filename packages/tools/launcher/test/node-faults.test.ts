import { expect, test } from '@jest/globals';
import type { Bus } from '@kubus/bus';
import {
  type FaultRule,
  NO_KEY,
  clearFault,
  faultRule,
  injectFault,
  runtimeCondition,
  runtimeHint,
  serviceContracts,
} from '@kubus/contracts';
import { Faulty } from './faulty-node.ts';

const inject = async (people: Bus, rule: FaultRule) => (await people.call(injectFault, rule.id, rule)).result.fault;

/** The rules that the service has received. */
async function following(faulty: Faulty, ids: readonly string[], people: Bus): Promise<void> {
  const reader = people.reader(faultRule);
  await reader.whenPresent();
  await faulty.until(() => [...reader].map(({ key }) => key).join() === ids.join());
}

function hint(bridge: Bus, containerId: string): void {
  bridge.emit(runtimeHint, 'pod-1', { containerId, kind: 'exit', at: '2026-01-01T00:00:00Z' });
}

/** Publishes hints until one is received: there is no notification that a rule has taken effect in another process. */
async function untilHeard(faulty: Faulty, bridge: Bus): Promise<void> {
  const before = faulty.ofType('runtime.event.hint/1').length;
  const timer = setInterval(() => hint(bridge, 'again'), 20);
  await faulty.until(() => faulty.ofType('runtime.event.hint/1').length > before).finally(() => clearInterval(timer));
}

/** Publishes hints until one is lost. */
async function untilLost(faulty: Faulty, bridge: Bus): Promise<void> {
  const before = faulty.ofType('fault.event.faulted/1').length;
  const timer = setInterval(() => hint(bridge, 'again'), 20);
  await faulty.until(() => faulty.ofType('fault.event.faulted/1').length > before).finally(() => clearInterval(timer));
}

const LIMIT_MS = 120_000;
const dropHints: FaultRule = { id: 'no-hints', match: { subject: 'runtime.event.hint.*' }, what: { kind: 'drop' } };

test(
  'a rule is applied by its service, published, listed, and ended when it is cleared',
  async () => {
    const faulty = await Faulty.start();
    await faulty.launcher();
    const bridge = await faulty.service('cri-bridge');
    const people = await faulty.people();
    await untilHeard(faulty, bridge);
    await inject(people, dropHints);
    await untilLost(faulty, bridge);
    expect(faulty.ofType('fault.event.faulted/1')[0]).toMatchObject({
      rule: 'no-hints',
      what: 'drop',
      side: 'sender',
      subject: 'runtime.event.hint.pod-1',
      message: expect.stringMatching(/^cri-bridge-0\.1\.\d+$/) as unknown,
    });
    await following(faulty, ['no-hints'], people);
    await expect(inject(people, dropHints)).rejects.toThrow('fault "no-hints" already exists: clear it first');
    expect((await people.call(clearFault, 'other', {})).result).toEqual({ cleared: [] });
    expect((await people.call(clearFault, NO_KEY, {})).result).toEqual({ cleared: ['no-hints'] });
    await untilHeard(faulty, bridge);
  },
  LIMIT_MS,
);

test(
  'a rule with a reader delays the deliveries to this reader only',
  async () => {
    const faulty = await Faulty.start();
    await faulty.launcher();
    const bridge = await faulty.service('cri-bridge');
    const loop = await faulty.service('sync-loop');
    const people = await faulty.people();
    const conditions = bridge.owner(runtimeCondition);
    const heard: { name: string | undefined; at: number }[] = [];
    const last = Promise.withResolvers<undefined>();
    const late = loop.reader(runtimeCondition, {
      changed: ({ value }) => {
        heard.push({ name: value.name, at: performance.now() });
        if (value.name === 'last') last.resolve(undefined);
      },
    });
    await late.whenPresent();
    await inject(people, {
      id: 'slow',
      match: { subject: 'runtime.fact.condition.*', reader: 'sync-loop' },
      what: { kind: 'delay', ms: 400 },
    });
    const faults = () => faulty.ofType('fault.event.faulted/1');
    const put = (name: string) =>
      conditions.put('runtime', { ready: true, network: 'runtime', networkReady: true, events: 'none', name });
    // Until the service follows the rule.
    for (let round = 0; faults().length === 0; round++) {
      put(`before ${round}`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    const others = new Promise<void>((resolve) => {
      people.reader(runtimeCondition, { changed: ({ value }) => value.name === 'last' && resolve() });
    });
    const began = performance.now();
    put('last');
    await others;
    await last.promise;
    // Timers of a machine fire up to a millisecond early.
    expect((heard.at(-1)?.at ?? 0) - began).toBeGreaterThan(398);
    const delay = { rule: 'slow', what: 'delay', side: 'reader', ms: 400 };
    expect(faults()).toEqual(faults().map(() => expect.objectContaining(delay) as unknown));
    // In the order of publication, the last one last.
    const names = heard.map(({ name }) => name ?? '');
    expect(names).toEqual([...new Set(names)]);
  },
  LIMIT_MS,
);

test(
  'a rule ends after its duration, with the launcher, and when a killed launcher restarts',
  async () => {
    const faulty = await Faulty.start();
    const first = await faulty.launcher(1);
    const bridge = await faulty.service('cri-bridge');
    const people = await faulty.people();
    const { ends, since } = await inject(people, { ...dropHints, when: { forMs: 300 } });
    expect((ends ?? 0) - since).toBe(300);
    await untilHeard(faulty, bridge);

    await inject(people, dropHints);
    await untilLost(faulty, bridge);
    await first.end();
    await untilHeard(faulty, bridge);

    await inject(people, dropHints);
    await untilLost(faulty, bridge);
    // The first launcher publishes no more; its rule ends as soon as the second one has published its empty set.
    await faulty.launcher(2);
    await untilHeard(faulty, bridge);
  },
  LIMIT_MS,
);

test('users of a node without faults may not send fault commands', async () => {
  const faulty = await Faulty.start();
  const people = await faulty.people(serviceContracts);
  expect(() => people.call(injectFault, dropHints.id, dropHints)).toThrow(/which its contract does not list/);
});
