import { describe, expect, test } from '@jest/globals';
import { LocalBroker } from '@kubus/bus/testing';
import { silentLogger } from '@kubus/ports';
import { ManualClock, settled } from '@kubus/ports/testing';
import type { RuntimeCondition } from '@kubus/contracts';
import type { StatusResponse } from '@kubus/proto/cri';
import { RuntimeWatch } from '../src/runtime-watch.ts';
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
  const told = () =>
    runtime.calls.filter(({ method }) => method === 'UpdateRuntimeConfig').map(({ request }) => request);
  return { clock, runtime, told, made, start: () => (made.start(), settled()) };
}
const both = { runtimeConfig: { networkConfig: { podCidr: '10.1.0.0/24,fd01::/64' } } };

test('a runtime that runs CNI itself is told the podCIDRs, again when it comes back, and until it takes them', async () => {
  const { clock, runtime, told, start } = watch({});
  runtime.on('UpdateRuntimeConfig', () => Promise.reject(failure('Internal', 'no template')));
  await start();
  expect(told()).toEqual([both]);
  runtime.on('UpdateRuntimeConfig', () => ({}));
  for (let look = 0; look < 3; look += 1) {
    await clock.advance(STATUS_MS);
    await settled();
  }
  expect(told()).toEqual([both, both]);
  runtime.setConnection('lost');
  runtime.setConnection('connected');
  await settled();
  expect(told()).toHaveLength(3);
});

test.each([
  ['whose network is cni-bridge’s', { handlers: ['kubus'], handler: 'kubus' }],
  ['of a node without podCIDRs', { podCidrs: [] }],
])('a runtime %s is told nothing', async (_, options) => {
  const { clock, told, start } = watch(options);
  await start();
  await clock.advance(STATUS_MS);
  await settled();
  expect(told()).toEqual([]);
});

test('other podCIDRs are told at once, the same ones not', async () => {
  const { told, made, start } = watch({});
  await start();
  made.usePodCidrs(['10.1.0.0/24', 'fd01::/64']);
  await settled();
  expect(told()).toHaveLength(1);
  made.usePodCidrs(['10.2.0.0/24']);
  await settled();
  expect(told().slice(1)).toEqual([{ runtimeConfig: { networkConfig: { podCidr: '10.2.0.0/24' } } }]);
});

test('without our handler the runtime runs CNI itself', async () => {
  const { told, start } = watch({ handlers: ['runc'], handler: 'kubus' });
  await start();
  expect(told()).toEqual([both]);
});

/** The watch of a runtime that says this of its handlers. */
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

describe('the handler of a pod', () => {
  test.each<[string, StatusResponse, string, string | undefined]>([
    ['ours', configured('runc', 'kubus'), '', 'kubus'],
    ['ours, listed', { runtimeHandlers: [{ name: 'kubus' }, { name: 'kubus-vm' }] }, 'vm', 'kubus-vm'],
    ['the class’s in our form', configured('runc', 'vm', 'kubus', 'kubus-vm'), 'vm', 'kubus-vm'],
    ['in our form where the runtime does not tell', {}, 'vm', 'kubus-vm'],
    ['the runtime’s own', configured('runc', 'vm'), '', undefined],
    ['the class’s own', configured('runc', 'vm'), 'vm', 'vm'],
  ])('is %s', async (_which, status, wanted, handler) => {
    const { watch } = await watchOf(status);
    expect(await watch.handler(wanted)).toBe(handler);
  });

  test('is refused where it has no form of ours: its pod would have no network and could not be removed', async () => {
    const { watch } = await watchOf(configured('runc', 'vm', 'kubus'));
    await expect(watch.handler('vm')).rejects.toMatchObject({ code: 'NoRuntimeHandler' });
  });
});

describe('what pods of a handler can have', () => {
  const able = { userNamespaces: true };
  const of = (userNamespaces: boolean) => ({ userNamespaces, recursiveReadOnlyMounts: false });
  test.each<[string, StatusResponse, RuntimeCondition['handlers']]>([
    ['a runtime that does not tell', configured('runc', 'kubus'), undefined],
    [
      'one that runs CNI itself',
      { runtimeHandlers: [{ name: '' }, { name: 'runc', features: { ...able, recursiveReadOnlyMounts: true } }] },
      { '': of(false), runc: { userNamespaces: true, recursiveReadOnlyMounts: true } },
    ],
    [
      'one that uses ours: what those have in whose place they are used',
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
    const told = broker.said.findLast(({ subject }) => subject.includes('runtime.fact.condition.runtime'));
    expect((JSON.parse(told?.data ?? '{}') as RuntimeCondition).handlers).toEqual(handlers);
  });
});
