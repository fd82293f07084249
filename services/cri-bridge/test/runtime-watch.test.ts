import { describe, expect, test } from '@jest/globals';
import { LocalBroker } from '@kubus/bus/testing';
import { silentLogger } from '@kubus/ports';
import { ManualClock, settled } from '@kubus/ports/testing';
import type { StatusResponse } from '@kubus/proto/cri';
import { RuntimeWatch } from '../src/runtime-watch.ts';
import { ScriptedRuntime } from './scripted-runtime.ts';

/** The watch of a runtime that says this of its handlers. */
async function watchOf(status: StatusResponse): Promise<RuntimeWatch> {
  const runtime = new ScriptedRuntime();
  runtime.on('Version', () => Promise.resolve({}));
  runtime.on('Status', () => Promise.resolve(status));
  const clock = new ManualClock();
  const { bus } = new LocalBroker('node0').join('cri-bridge', clock);
  const watch = new RuntimeWatch({ runtime, bus, clock, logger: silentLogger, handler: 'kubus' });
  watch.start();
  await settled();
  return watch;
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
    expect(await (await watchOf(status)).handler(wanted)).toBe(handler);
  });

  test('is refused where it has no form of ours: its pod would have no network and could not be removed', async () => {
    const watch = await watchOf(configured('runc', 'vm', 'kubus'));
    await expect(watch.handler('vm')).rejects.toMatchObject({ code: 'NoRuntimeHandler' });
  });
});
