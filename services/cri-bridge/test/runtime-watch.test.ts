import { describe, expect, test } from '@jest/globals';
import { LocalBroker } from '@kubus/bus/testing';
import { silentLogger } from '@kubus/ports';
import { ManualClock, settled } from '@kubus/ports/testing';
import type { RuntimeCondition } from '@kubus/contracts';
import type { StatusResponse } from '@kubus/proto/cri';
import { RuntimeWatch } from '../src/runtime/runtime-watch.ts';
import { ScriptedRuntime, failure } from './scripted-runtime.ts';

const STATUS_MS = 10_000;

/** A watch on a runtime that has the handlers `handlers`. */
function watch(options: { handlers?: readonly string[]; handler?: string; podCidrs?: readonly string[] }) {
  const { handlers = [], handler, podCidrs = ['10.1.0.0/24', 'fd01::/64'] } = options;
  const clock = new ManualClock();
  const runtime = new ScriptedRuntime()
    .on('Version', () => ({ runtimeName: 'containerd', runtimeVersion: '2.1.9' }))
    .on('Status', () => ({ runtimeHandlers: handlers.map((name) => ({ name })) }))
    .on('UpdateRuntimeConfig', () => ({}));
  const { bus } = new LocalBroker('node0').join('cri-bridge', clock);
  const made = new RuntimeWatch({ runtime, bus, clock, logger: silentLogger, handler, podCidrs });
  const configUpdates = () =>
    runtime.calls.filter(({ method }) => method === 'UpdateRuntimeConfig').map(({ request }) => request);
  return { clock, runtime, configUpdates, made, start: () => (made.start(), settled()) };
}
const both = { runtimeConfig: { networkConfig: { podCidr: '10.1.0.0/24,fd01::/64' } } };

test('a runtime that runs CNI itself gets the podCIDRs, again after a reconnect, and until it accepts them', async () => {
  const { clock, runtime, configUpdates, start } = watch({});
  runtime.on('UpdateRuntimeConfig', () => Promise.reject(failure('Internal', 'no template')));
  await start();
  expect(configUpdates()).toEqual([both]);
  runtime.on('UpdateRuntimeConfig', () => ({}));
  for (let look = 0; look < 3; look += 1) {
    await clock.advance(STATUS_MS);
    await settled();
  }
  expect(configUpdates()).toEqual([both, both]);
  runtime.setConnection('lost');
  runtime.setConnection('connected');
  await settled();
  expect(configUpdates()).toHaveLength(3);
});

test.each([
  ['whose network cni-bridge sets up', { handlers: ['kubus'], handler: 'kubus' }],
  ['of a node without podCIDRs', { podCidrs: [] }],
])('a runtime %s gets no podCIDRs', async (_, options) => {
  const { clock, configUpdates, start } = watch(options);
  await start();
  await clock.advance(STATUS_MS);
  await settled();
  expect(configUpdates()).toEqual([]);
});

test('changed podCIDRs are sent at once, unchanged ones not at all', async () => {
  const { configUpdates, made, start } = watch({});
  await start();
  made.usePodCidrs(['10.1.0.0/24', 'fd01::/64']);
  await settled();
  expect(configUpdates()).toHaveLength(1);
  made.usePodCidrs(['10.2.0.0/24']);
  await settled();
  expect(configUpdates().slice(1)).toEqual([{ runtimeConfig: { networkConfig: { podCidr: '10.2.0.0/24' } } }]);
});

test('without Kubus’s handler the runtime runs CNI itself', async () => {
  const { configUpdates, start } = watch({ handlers: ['runc'], handler: 'kubus' });
  await start();
  expect(configUpdates()).toEqual([both]);
});

/** The watch of a runtime that reports this status of its handlers. */
async function watchOf(status: StatusResponse): Promise<{ watch: RuntimeWatch; broker: LocalBroker }> {
  const runtime = new ScriptedRuntime();
  runtime.on('Version', () => ({}));
  runtime.on('Status', () => Promise.resolve(status));
  const clock = new ManualClock();
  const broker = new LocalBroker('node0');
  const { bus } = broker.join('cri-bridge', clock);
  const watch = new RuntimeWatch({ runtime, bus, clock, logger: silentLogger, handler: 'kubus', podCidrs: [] });
  watch.start();
  await settled();
  return { watch, broker };
}

const configured = (...names: string[]): StatusResponse => {
  const runtimes = Object.fromEntries(names.map((name) => [name, {}]));
  return { info: { config: JSON.stringify({ containerd: { runtimes } }) } };
};

describe('the runtime handler of a pod', () => {
  test.each<[string, StatusResponse, string, string | undefined]>([
    ['ours', configured('runc', 'kubus'), '', 'kubus'],
    ['ours, listed', { runtimeHandlers: [{ name: 'kubus' }, { name: 'kubus-vm' }] }, 'vm', 'kubus-vm'],
    ['Kubus’s variant of the RuntimeClass’s handler', configured('runc', 'vm', 'kubus', 'kubus-vm'), 'vm', 'kubus-vm'],
    ['Kubus’s variant where the runtime does not list its handlers', {}, 'vm', 'kubus-vm'],
    ['the runtime’s default', configured('runc', 'vm'), '', undefined],
    ['the RuntimeClass’s own', configured('runc', 'vm'), 'vm', 'vm'],
  ])('is %s', async (_which, status, wanted, handler) => {
    const { watch } = await watchOf(status);
    expect(await watch.handler(wanted)).toBe(handler);
  });

  test('is refused where Kubus’s variant is missing, since its pod would have no network and could not be removed', async () => {
    const { watch } = await watchOf(configured('runc', 'vm', 'kubus'));
    await expect(watch.handler('vm')).rejects.toMatchObject({ code: 'NoRuntimeHandler' });
  });
});

test.each([
  ['ready', true, undefined],
  ['not ready, whatever its message', false, 'the container runtime is not ready'],
])('the health of a runtime that is %s', async (_which, ready, problem) => {
  const { watch } = await watchOf({
    status: { conditions: [{ type: 'RuntimeReady', status: ready, reason: 'Test', message: '"ready":true' }] },
  });
  expect(watch.problem).toBe(problem);
});

describe('the features that pods of a handler can have, by runtime', () => {
  const able = { userNamespaces: true };
  const of = (userNamespaces: boolean) => ({ userNamespaces, recursiveReadOnlyMounts: false });
  test.each<[string, StatusResponse, RuntimeCondition['handlers']]>([
    ['one that does not report features', configured('runc', 'kubus'), undefined],
    [
      'one that runs CNI itself',
      { runtimeHandlers: [{ name: '' }, { name: 'runc', features: { ...able, recursiveReadOnlyMounts: true } }] },
      { '': of(false), runc: { userNamespaces: true, recursiveReadOnlyMounts: true } },
    ],
    [
      'one with Kubus’s handlers: the features of the variant that is used',
      {
        runtimeHandlers: [
          { name: '' },
          { name: 'vm', features: able },
          { name: 'kubus', features: able },
          { name: 'kubus-vm', features: { userNamespaces: false } },
        ],
      },
      {
        '': of(true),
        vm: of(false),
        kubus: of(false),
        'kubus-vm': of(false),
      },
    ],
  ])('%s', async (_, status, handlers) => {
    const { broker } = await watchOf(status);
    const fact = broker.said.findLast(({ subject }) => subject.includes('runtime.fact.condition.runtime'));
    expect((JSON.parse(fact?.data ?? '{}') as RuntimeCondition).handlers).toEqual(handlers);
  });
});
