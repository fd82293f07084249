import { describe, expect, test } from '@jest/globals';
import { Bus, DirectDelivery, HEADER, type WireMessage } from '@kubus/bus';
import { type ServiceName, serviceContracts } from '@kubus/contracts';
import { silentLogger } from '@kubus/ports';
import type { Weather } from '../src/index.ts';
import { color, contracts as all, dried, look, self, world } from './bus-fixture.ts';

const contracts = { ...all, 'cri-bridge': { ...all['cri-bridge'], serves: [look] } };

/** Nothing of what is sent reaches a reader through the broker. */
const deaf: Weather = { message: () => [], fact: (_key, to) => (to === 'store' ? 0.3 : 60_000) };

/** Three services in one process, on a node with a broker. */
function process(w = world(), epoch = 1) {
  const direct = new DirectDelivery({
    ...{ node: 'n', slot: 0, others: [], clock: w.scheduler, logger: silentLogger },
    services: ['config-sources', 'cri-bridge', 'pod-workers'],
    contracts: { ...serviceContracts, ...contracts },
    soon: (step) => void w.scheduler.after(0, step),
  });
  direct.shared('pod-workers', ['pod-workers-0']);
  const join = (service: keyof typeof contracts & ServiceName) => {
    const transport = direct.join(service, w.broker.connect(`${service}-0`));
    const ports = { clock: w.scheduler, ids: w.random.fork(), logger: silentLogger };
    const instance = `${service}-0`;
    return new Bus({ ...ports, node: 'n', service, instance, epoch, contract: contracts[service], transport });
  };
  const said: WireMessage[] = [];
  w.broker.observe((message) => said.push(message));
  const [sources, bridge, workers] = [join('config-sources'), join('cri-bridge'), join('pod-workers')] as const;
  return { w, direct, said, sources, bridge, workers };
}

/** A command's result, with the bridge announced through the broker. */
async function announced(node: ReturnType<typeof process>): Promise<void> {
  node.bridge.announce(self);
  await node.w.until(() => [...node.workers.peers].length === 1);
}

describe('services of one process', () => {
  test('exchange commands, events and facts without the broker, which gets each of them once, as text', async () => {
    const node = process();
    const { w, said, sources, bridge, workers } = node;
    const owner = sources.owner(color);
    bridge.serve(look, () => Promise.resolve({ seen: 7 }));
    const seen: unknown[] = [];
    workers.subscribe(dried, ({ payload }) => seen.push(payload));
    const reader = workers.reader(color, { changed: ({ key, value }) => seen.push([key, value]) });
    await announced(node);
    w.broker.weather = deaf;
    const start = w.scheduler.now();
    owner.put('a', 'red');
    const event = bridge.emit(dried, 'u', { at: 1 });
    void workers.call(look, 'x', {}, { causes: [event] }).then(({ result }) => seen.push(result));
    await w.until(() => seen.length === 3);
    expect(w.scheduler.now()).toBe(start);
    expect(seen).toEqual([['a', 'red'], { at: 1 }, { seen: 7 }]);
    expect(reader.get('a')?.value).toBe('red');
    await w.quiet(100);
    const own = said.filter(({ subject }) => !subject.includes('.service.fact.'));
    expect(own.map(({ subject, data }) => [subject, data])).toEqual([
      ['kubus.n.runtime.event.dried.u', '{"at":1}'],
      ['kubus.n.runtime.cmd.look.x.pod-workers.pod-workers-0', '{}'],
      ['kubus.n.reply.pod-workers.pod-workers-0.x.cri-bridge', '{"seen":7}'],
      ['kubus.n.config.fact.color.a', '"red"'],
    ]);
    expect(own[1]?.headers[HEADER.causes]).toBe(event.id);
    expect(own.every((message) => !('value' in message))).toBe(true);
  });

  test('cannot change what others receive', async () => {
    const node = process();
    const outcomes: unknown[] = [];
    node.workers.subscribe(dried, ({ payload }) => {
      const change = () => Object.assign(payload, { at: 2 });
      expect(change).toThrow(TypeError);
      outcomes.push(payload);
    });
    await node.w.quiet();
    const payload = { at: 1 };
    node.bridge.emit(dried, 'u', payload);
    payload.at = 3;
    await node.w.quiet();
    expect(outcomes).toEqual([{ at: 1 }]);
  });

  test('use the broker while one of them has another instance, and the direct way again afterwards', async () => {
    const node = process();
    const { w, direct, said, sources, bridge, workers } = node;
    const owner = sources.owner(color);
    owner.put('a', 'red');
    owner.complete();
    let runs = 0;
    bridge.serve(look, () => Promise.resolve({ seen: ++runs }));
    const removed: string[] = [];
    const reader = workers.reader(color, { removed: ({ key }) => removed.push(key) });
    await announced(node);
    const call = async () => {
      let seen = 0;
      void workers.call(look, 'x', {}).then(({ result }) => (seen = result.seen));
      await w.until(() => seen > 0);
      return seen;
    };
    expect(await call()).toBe(1);

    direct.shared('pod-workers', ['pod-workers-0', 'pod-workers-1']);
    const second = w.join('pod-workers', 1, 1);
    owner.put('b', 'blue');
    await w.until(() => reader.get('b') !== undefined && second.connection.connected);
    said.length = 0;
    const before = w.scheduler.now();
    expect(await call()).toBe(2);
    // Command and reply take their time on the broker.
    expect(w.scheduler.now() - before).toBeCloseTo(0.6, 2);

    direct.shared('pod-workers', ['pod-workers-0']);
    // Removed while the reader has no connection.
    owner.remove('a');
    await w.until(() => removed.length > 0);
    expect(await call()).toBe(3);
    w.broker.weather = deaf;
    expect(await call()).toBe(4);
    expect([...reader].map(({ key }) => key)).toEqual(['b']);
  });

  test('hear an instance that shares no pods any more, and use the broker from then on', async () => {
    const node = process();
    const { w, direct, bridge, workers } = node;
    let runs = 0;
    bridge.serve(look, () => Promise.resolve({ seen: ++runs }));
    await announced(node);
    const leaving = w.join('pod-workers', 1, 1);
    leaving.bus.reader(color);
    leaving.bus.subscribe(dried, () => undefined);
    leaving.bus.announce(self);
    await w.until(() => [...workers.peers].length === 2);
    expect(direct.isDirect('pod-workers')).toBe(true);
    const seen: number[] = [];
    void leaving.bus.call(look, 'x', {}).then(({ result }) => seen.push(result.seen));
    await w.until(() => seen.length === 1);
    expect(seen).toEqual([1]);
    expect(direct.isDirect('pod-workers')).toBe(false);

    direct.shared('pod-workers', ['pod-workers-0']);
    expect(direct.isDirect('pod-workers')).toBe(true);
  });

  test('reach one of them in another process through the broker, and directly again when it is back', async () => {
    const { w, direct, sources, workers } = process();
    const seen: unknown[] = [];
    const note = ({ key, value }: { key: string; value: unknown }) => seen.push([key, value]);
    workers.reader(color, { changed: note });
    sources.owner(color).put('a', 'inside');
    await w.until(() => seen.length === 1);

    direct.leave('config-sources');
    direct.setElsewhere('config-sources', true);
    // The same instance, in its next life.
    const outside = w.join('config-sources', 2, 0);
    outside.bus.owner(color).put('a', 'outside');
    await w.until(() => seen.length === 2);
    outside.connection.kill();

    direct.setElsewhere('config-sources', false);
    const transport = direct.join('config-sources', w.broker.connect('config-sources-0'));
    const ports = { clock: w.scheduler, ids: w.random.fork(), logger: silentLogger };
    const instance = 'config-sources-0';
    const contract = contracts['config-sources'];
    const back = new Bus({ ...ports, node: 'n', service: 'config-sources', instance, epoch: 3, contract, transport });
    const owner = back.owner(color);
    await w.until(() => transport.connected && workers.transport.connected);
    await w.quiet();
    w.broker.weather = deaf;
    owner.put('a', 'back');
    await w.until(() => seen.length === 3);
    expect(seen).toEqual([
      ['a', 'inside'],
      ['a', 'outside'],
      ['a', 'back'],
    ]);
  });

  test('read what an instance in another process has stored, and nothing that an earlier life of their own has left', async () => {
    const w = world();
    const earlier = w.join('config-sources', 1, 0);
    const other = w.join('config-sources', 1, 1);
    earlier.bus.owner(color).put('old', 'red');
    other.bus.owner(color).put('other', 'blue');
    await w.quiet();
    earlier.connection.kill();
    const { sources, workers } = process(w);
    const reader = workers.reader(color);
    await w.until(() => reader.get('other') !== undefined);
    await w.quiet();
    expect([...reader].map(({ key }) => key)).toEqual(['other']);
    sources.owner(color).put('new', 'green');
    await w.quiet(1);
    expect([...reader].map(({ key }) => key)).toEqual(['other', 'new']);
  });

  test('read nothing of an earlier life at the broker either, before it is known how many instances share the pods', async () => {
    const w = world();
    const earlier = w.join('config-sources', 1, 0);
    earlier.bus.owner(color).put('old', 'red');
    w.join('config-sources', 1, 1).bus.owner(color).put('other', 'blue');
    await w.quiet();
    earlier.connection.kill();
    const { direct, sources, workers } = process(w, 2);
    direct.shared('pod-workers', []);
    await w.quiet();
    const reader = workers.reader(color);
    await w.until(() => reader.get('other') !== undefined);
    await w.quiet();
    expect([...reader].map(({ key }) => key)).toEqual(['other']);
    sources.owner(color).put('new', 'green');
    await w.until(() => reader.get('new') !== undefined);
    expect([...reader].map(({ key }) => key)).toEqual(['other', 'new']);
  });

  test('know each other also when an announcement of their earlier life has overtaken the present one', async () => {
    const w = world();
    const earlier = process(w);
    const delayed = w.broker.connect('delayed');
    const key = 'service.fact.instance.cri-bridge-0';
    earlier.bridge.serve(look, () => Promise.resolve({ seen: 1 }));
    await announced(earlier);
    const late = w.broker.stored(key);
    if (late === undefined) throw new Error('it has announced itself');
    for (const service of ['config-sources', 'cri-bridge', 'pod-workers'] as const) earlier.direct.leave(service);
    // What is stored is read only when both are there.
    w.broker.weather = { ...deaf, fact: (_key, to) => (to === 'pod-workers-0' ? 1_000 : 0.3) };
    const node = process(w, 2);
    node.bridge.serve(look, () => Promise.resolve({ seen: 7 }));
    node.bridge.announce(self);
    await w.quiet(10);
    void delayed.storeFact(key, late);
    let seen = 0;
    void node.workers.call(look, 'x', {}).then(({ result }) => (seen = result.seen));
    await w.until(() => seen === 7);
    expect([...node.workers.peers].map(({ epoch }) => epoch)).toEqual([2]);
    expect(w.broker.stored(key)?.headers[HEADER.epoch]).toBe('1');
  });

  test('receive nothing that was sent while their connection was lost, like services of several processes', async () => {
    const node = process();
    const { w, bridge, workers } = node;
    let runs = 0;
    bridge.serve(look, () => Promise.resolve({ seen: ++runs }));
    await announced(node);
    const events: number[] = [];
    workers.subscribe(dried, ({ payload }) => events.push(payload.at));
    let seen = 0;
    void workers.call(look, 'x', {}).then(({ result }) => (seen = result.seen));
    bridge.emit(dried, 'u', { at: 1 });
    w.broker.crash();
    await w.quiet(10);
    expect([runs, events]).toEqual([0, []]);
    w.broker.start();
    bridge.announce(self);
    await w.until(() => seen > 0);
    expect([runs, seen]).toEqual([1, 1]);
  });
});
