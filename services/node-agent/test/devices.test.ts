// The devices of a node: which pods get them, and when they are free again.
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { CommandFailed } from '@kubus/bus';
import { CONFIG_SOURCE, type Pod, type PodWork, type PodWorkerReport } from '@kubus/contracts';
import { pod as makePod } from '@kubus/pod-lifecycle/testing';
import { DeviceRig, RESOURCE, counted, refOf } from './device-rig.ts';

const MINUTE = 60_000;

let rig: DeviceRig;
beforeEach(() => {
  rig = new DeviceRig();
});
afterEach(() => rig.remove());

describe('allocation', () => {
  test('a pod keeps its devices over repeated requests, and no other pod gets them', async () => {
    await rig.start();
    const plugin = await rig.plug(['a', 'b']);
    const given = await rig.ask('one', [counted('main', 1)]);
    expect(await rig.ask('one', [counted('main', 1)])).toEqual(given);
    const [first] = Object.values(given);
    const [second] = ['a', 'b'].filter((id) => id !== first);
    expect(await rig.ask('two', [counted('main', 1)])).toEqual({ main: second });
    expect(await rig.refusal('three', [counted('main', 1)])).toEqual({
      code: 'UnexpectedAdmissionError',
      message: `Allocate failed due to requested number of devices unavailable for ${RESOURCE}. Requested: 1, Available: 0, which is unexpected`,
    });
    expect(await plugin.requests('allocate')).toHaveLength(2);
    const devices = [{ id: first }];
    const containers = [{ name: 'main', resources: [{ resource: RESOURCE, devices }] }];
    expect(rig.allocations.get('one')).toEqual({ ref: refOf('one'), containers });
    expect(rig.allocations.has('three')).toBe(false);
  });

  test('devices of an init container are reused by later containers', async () => {
    await rig.start();
    await rig.plug(['a', 'b']);
    const requests = [{ ...counted('init', 2), ends: true }, counted('side', 1), counted('main', 1)];
    const { init, ...others } = await rig.ask('one', requests);
    expect([init, Object.values(others).toSorted()]).toEqual(['a,b', ['a', 'b']]);
  });

  test('a pod that is refused for one container gets no devices; resources without a plugin are ignored', async () => {
    await rig.start();
    const plugin = await rig.plug(['a', 'b']);
    expect(await rig.ask('other', [counted('main', 1, 'example.com/nobodys')])).toEqual({});
    await plugin.disturb({ method: 'allocate', what: 'fail' });
    const message =
      'Allocate failed due to rpc error: code = Unknown desc = allocate fails as the test wants, which is unexpected';
    expect(await rig.refusal('one', [counted('main', 2)])).toEqual({ code: 'UnexpectedAdmissionError', message });
    expect(await rig.ask('two', [counted('main', 2)])).toEqual({ main: 'a,b' });
  });

  test('a hanging plugin delays no request for another resource, and its reserved devices are not given to others', async () => {
    await rig.start();
    const plugin = await rig.plug(['a']);
    await rig.plug(['x'], { resource: 'example.com/other' });
    await plugin.disturb({ method: 'allocate', what: 'hang' });
    const one = rig.ask('one', [counted('main', 1)]);
    await plugin.until(() => plugin.calls.some(({ method }) => method === 'allocate'));
    expect(await rig.ask('two', [counted('main', 1, 'example.com/other')])).toEqual({ main: 'x' });
    expect(await rig.refusal('three', [counted('main', 1)])).toMatchObject({ code: 'UnexpectedAdmissionError' });
    await plugin.release();
    expect(await one).toEqual({ main: 'a' });
  });

  test.each(['container', 'pod'])('devices of different NUMA nodes are refused for a %s', async (scope) => {
    await rig.start('single-numa-node', scope);
    const devices = [
      { id: 'a', numaNodes: [0] },
      { id: 'b', numaNodes: [9] },
    ];
    await rig.plug(['a', 'b'], { devices });
    const why = await rig.ask('zero', [counted('main', 2)]).catch((thrown: unknown) => thrown);
    expect(JSON.parse(String((why as CommandFailed).context['merge']))).toEqual({
      ...{ policy: 'single-numa-node', preferred: false, ...(scope === 'container' && { container: 'main' }) },
      resources: [{ resource: RESOURCE, hints: [] }],
    });
    expect(await rig.refusal('one', [counted('main', 2)])).toEqual({
      code: 'TopologyAffinityError',
      message: 'Resources cannot be allocated with Topology locality',
    });
    expect(await rig.refusal('two', [counted('main', 1), counted('side', 1)])).toMatchObject({
      code: 'TopologyAffinityError',
    });
    expect(await rig.ask('three', [counted('main', 1)])).toEqual({ main: 'a' });
  });

  test('the plugin’s preferred devices are used, and its PreStartContainer is called and can fail the start', async () => {
    await rig.start();
    const plugin = await rig.plug(['a', 'b', 'c'], { preferred: ['c'], preStart: true });
    expect(await rig.ask('one', [counted('main', 1), counted('side', 1)], { starting: 'main' })).toEqual({ main: 'c' });
    expect(await plugin.requests('preStart')).toEqual([{ devicesIds: ['c'] }]);
    await plugin.disturb({ method: 'preStart', what: 'fail' });
    expect(await rig.refusal('one', [counted('main', 1), counted('side', 1)], { starting: 'main' })).toEqual({
      code: 'CreateContainerConfigError',
      message: 'rpc error: code = Unknown desc = preStart fails as the test wants',
    });
    expect(await plugin.requests('allocate')).toHaveLength(2);
  });
});

describe('plugins that disconnect and return', () => {
  test('devices of a disconnected plugin cannot be allocated, and count as capacity for five more minutes', async () => {
    await rig.start();
    const plugin = await rig.plug(['a', 'b']);
    expect(rig.life?.service.resources.amounts).toEqual({
      capacity: { [RESOURCE]: '2' },
      allocatable: { [RESOURCE]: '2' },
    });
    await plugin.setDevices([{ id: 'a' }, { id: 'b', healthy: false }]);
    await rig.until(() => rig.resources.get(RESOURCE)?.devices.some(({ healthy }) => !healthy) === true);
    expect(rig.life?.service.resources.amounts.allocatable).toEqual({ [RESOURCE]: '1' });
    await plugin.kill();
    await rig.until(() => rig.resources.get(RESOURCE)?.gone === true);
    expect(rig.life?.service.resources.amounts).toEqual({
      capacity: { [RESOURCE]: '2' },
      allocatable: { [RESOURCE]: '0' },
    });
    expect((await rig.refusal('one', [counted('main', 1)])).message).toContain('no healthy devices present');
    await rig.clock.advance(5 * MINUTE);
    expect(rig.life?.service.resources.amounts).toEqual({
      capacity: { [RESOURCE]: '0' },
      allocatable: { [RESOURCE]: '0' },
    });
    expect((await rig.refusal('one', [counted('main', 1)])).message).toContain('cannot allocate unregistered device');
    await plugin.live();
    await rig.until(() => rig.resources.get(RESOURCE)?.gone === false);
    expect(await rig.ask('one', [counted('main', 1)])).toEqual({ main: 'a' });
  });

  test('a plugin whose device list ends at once counts as disconnected until it registers again', async () => {
    await rig.start();
    const plugin = await rig.plug(['a']);
    await plugin.disturb({ method: 'list', what: 'fail' });
    await plugin.register();
    await rig.until(() => rig.resources.get(RESOURCE)?.gone === true);
    await plugin.register();
    await rig.until(() => rig.resources.get(RESOURCE)?.gone === false);
  });

  test('after a restart pods keep their devices, and a further request waits for the plugin to register', async () => {
    await rig.start();
    const plugin = await rig.plug(['a', 'b']);
    const given = await rig.ask('one', [counted('main', 1)]);
    await plugin.kill();
    await rig.until(() => rig.resources.get(RESOURCE)?.gone === true);
    await plugin.live();
    await rig.until(() => rig.resources.get(RESOURCE)?.gone === false);
    await rig.stop();
    await plugin.kill();
    await rig.start();
    expect(rig.resources.get(RESOURCE)).toMatchObject({ gone: false });
    expect(await rig.ask('one', [counted('main', 1)])).toEqual(given);
    const two = rig.ask('two', [counted('main', 1)]);
    await plugin.live();
    expect(Object.values(await two)).not.toEqual(Object.values(given));
    expect(await plugin.requests('allocate')).toHaveLength(2);
  });

  test('a plugin that does not register in time after a restart counts as disconnected, its devices as none', async () => {
    await rig.start();
    const plugin = await rig.plug(['a']);
    await rig.stop();
    await plugin.kill();
    await rig.start();
    const one = rig.refusal('one', [counted('main', 1)]);
    await rig.clock.advance(10_000);
    expect((await one).message).toContain('no healthy devices present');
    expect(rig.resources.get(RESOURCE)).toMatchObject({ gone: true, devices: [] });
    const none = { capacity: { [RESOURCE]: '0' }, allocatable: { [RESOURCE]: '0' } };
    expect(rig.life?.service.resources.amounts).toEqual(none);
  });

  test('a restart ends the grace period of a disconnected plugin’s devices', async () => {
    await rig.start();
    const plugin = await rig.plug(['a']);
    await plugin.kill();
    await rig.until(() => rig.resources.get(RESOURCE)?.gone === true);
    await rig.stop();
    await rig.start();
    expect(rig.resources.get(RESOURCE)).toMatchObject({ gone: true, devices: [] });
    expect((await rig.refusal('one', [counted('main', 1)])).message).toContain('no healthy devices present');
  });
});

describe('a container with devices of before a restart', () => {
  const pod = makePod({ containers: [{ name: 'main' }] }, { uid: 'one', name: 'one' });
  const statically = { ...pod, metadata: { ...pod.metadata, annotations: { [CONFIG_SOURCE]: 'file' } } };
  const restarted = async (desired: Pod, setup: { preStart?: boolean } = {}) => {
    const more = {
      source: 'api',
      reason: 'desired',
      worker: 'pod-workers-0',
      firstSeen: '2030-01-01T00:00:00Z',
    } as const;
    rig.works.put('one', { ref: refOf('one'), work: 'sync', pod: desired, ...more }, { pod: 'one' });
    await rig.start();
    const plugin = await rig.plug(['a', 'b'], setup);
    const given = await rig.ask('one', [counted('main', 1)], { starting: 'main' });
    await rig.stop();
    await plugin.kill();
    await rig.start();
    return { plugin, given };
  };
  const start = () => rig.ask('one', [counted('main', 1)], { starting: 'main' });

  test('starts when its plugin is back', async () => {
    const { plugin, given } = await restarted(pod);
    const again = start();
    await plugin.live();
    expect(await again).toEqual(given);
    await plugin.kill();
    await rig.until(() => rig.resources.get(RESOURCE)?.gone === true);
    expect(await start()).toEqual(given);
    expect(rig.evicted.size).toBe(0);
  });

  test('fails with its pod when its plugin does not return, as after a boot', async () => {
    await restarted(pod);
    const again = rig.refusal('one', [counted('main', 1)], { starting: 'main' });
    await rig.clock.advance(10_000);
    const message = `Allocate failed due to no healthy devices present; cannot allocate unhealthy devices ${RESOURCE}, which is unexpected`;
    expect(await again).toEqual({ code: 'CreateContainerConfigError', message });
    const failure = { reason: 'UnexpectedAdmissionError', message: `Pod was rejected: ${message}` };
    expect(rig.evicted.get('one')).toEqual(failure);
  });

  test('fails with its pod when the runtime has lost it, unless its plugin returns, and is not prepared for a start', async () => {
    const { plugin } = await restarted(pod, { preStart: true });
    const lost = () => rig.ask('one', [counted('main', 1)], { lost: 'main' });
    const problem = rig.refusal('one', [counted('main', 1)], { lost: 'main' });
    await rig.clock.advance(10_000);
    expect((await problem).code).toBe('UnexpectedAdmissionError');
    expect(rig.evicted.get('one')).toMatchObject({ reason: 'UnexpectedAdmissionError' });
    rig.evicted.clear();
    const starts = (await plugin.requests('preStart')).length;
    await plugin.live();
    await rig.until(() => rig.resources.get(RESOURCE)?.gone === false);
    expect(await lost()).toEqual({});
    expect([rig.evicted.size, (await plugin.requests('preStart')).length]).toEqual([0, starts]);
  });

  test('of a static pod starts without its plugin', async () => {
    const { given } = await restarted(statically);
    const again = start();
    await rig.clock.advance(10_000);
    expect(await again).toEqual(given);
  });
});

describe('devices are freed', () => {
  const since = '2030-01-01T00:00:00Z';
  const work = (uid: string, what: PodWork['work']): void => {
    const more = { source: 'file', reason: 'desired', worker: 'pod-workers-0', firstSeen: since } as const;
    rig.works.put(uid, { ref: refOf(uid), work: what, ...more }, { pod: uid });
  };
  const report = (uid: string, state: PodWorkerReport['state']): void => {
    rig.workers.put(uid, { ref: refOf(uid), state, since }, { pod: uid });
  };

  test('when the pod’s worker has finished, not before', async () => {
    await rig.start();
    await rig.plug(['a']);
    await rig.ask('one', [counted('main', 1)]);
    work('one', 'sync');
    for (const state of ['syncing', 'terminating'] as const) {
      report('one', state);
      expect(await rig.refusal('two', [counted('main', 1)])).toMatchObject({ code: 'UnexpectedAdmissionError' });
    }
    report('one', 'terminated');
    await rig.until(() => !rig.allocations.has('one'));
    expect(await rig.ask('two', [counted('main', 1)])).toEqual({ main: 'a' });
  });

  test('when no service lists the pod any more, all have published their completion marks, and nothing of it can be late', async () => {
    await rig.start();
    await rig.plug(['a']);
    await rig.ask('one', [counted('main', 1)]);
    rig.works.complete();
    rig.workers.complete();
    expect(await rig.refusal('two', [counted('main', 1)])).toMatchObject({ code: 'UnexpectedAdmissionError' });
    rig.completeSources();
    expect(await rig.refusal('two', [counted('main', 1)])).toMatchObject({ code: 'UnexpectedAdmissionError' });
    await rig.clock.advance(30_000);
    await rig.until(() => !rig.allocations.has('one'));
    await rig.stop();
    await rig.start();
    expect(rig.allocations.size).toBe(0);
  });
});
