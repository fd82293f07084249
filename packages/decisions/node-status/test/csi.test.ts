import { describe, expect, test } from '@jest/globals';
import type { CsiPlugin } from '@kubus/contracts';
import {
  type CsiNode,
  NODE_IDS,
  belongsTo,
  csiNodeWrites,
  newCsiNode,
  topologyProblem,
  withPlugins,
  withStatus,
} from '../src/index.ts';
import { node, statusInput } from './make.ts';

const plugin = (driver: string, more: Partial<CsiPlugin> = {}): CsiPlugin => ({
  ...{ driver, nodeId: `${driver}-id`, topology: {} },
  ...more,
});
const known = (complete: boolean, ...plugins: CsiPlugin[]) => ({ plugins, complete });
const ids = (text: string) => node({ metadata: { annotations: { own: 'kept', [NODE_IDS]: text } } });
const annotated = (text: string, ...of: Parameters<typeof known>) =>
  withPlugins(ids(text), known(...of)).metadata.annotations;

describe('the Node object', () => {
  test('has the drivers’ names for the node, without removed drivers once all are known', () => {
    const b = plugin('b', { nodeId: 'new' });
    expect(annotated('{"a":"1","b":"2"}', false, b)).toEqual({ own: 'kept', [NODE_IDS]: '{"a":"1","b":"new"}' });
    expect(annotated('{"a":"1","b":"2"}', true, b)).toEqual({ own: 'kept', [NODE_IDS]: '{"b":"new"}' });
    expect(annotated('{"a":"1"}', true)).toEqual({ own: 'kept' });
    expect(annotated('{"a":"1"}', false)).toEqual({ own: 'kept', [NODE_IDS]: '{"a":"1"}' });
    expect(annotated('no json', false, b)).toEqual({ own: 'kept', [NODE_IDS]: '{"b":"new"}' });
    expect(withPlugins(node(), known(true, plugin('b'), plugin('a'))).metadata.annotations).toEqual({
      [NODE_IDS]: '{"a":"a-id","b":"b-id"}',
    });
  });

  test('has the drivers’ topology labels, unless they contradict existing labels', () => {
    const labelled = node({ metadata: { labels: { 'zone.test/a': 'one' } } });
    const more = plugin('a', { topology: { 'zone.test/a': 'one', 'rack.test/b': 'two' } });
    expect(withPlugins(labelled, known(false, more)).metadata.labels).toEqual({
      ...{ 'zone.test/a': 'one', 'rack.test/b': 'two' },
    });
    const other = plugin('a', { topology: { 'zone.test/a': 'two' } });
    expect(withPlugins(labelled, known(true, other)).metadata).toMatchObject({ labels: { 'zone.test/a': 'one' } });
    expect(withPlugins(labelled, known(true, other)).metadata.annotations).toEqual({});
    expect(topologyProblem({ 'zone.test/a': 'one' }, other)).toBe(
      'detected topology value collision: driver reported "zone.test/a":"two" but existing label is "zone.test/a":"one"',
    );
    const [first, second] = [plugin('a', { topology: { k: '1' } }), plugin('b', { topology: { k: '2' } })];
    expect(withPlugins(node(), known(true, second, first)).metadata.labels).toEqual({ k: '1' });
    expect(withPlugins(labelled, known(true)).metadata.labels).toEqual({ 'zone.test/a': 'one' });
  });

  test('has the volumes in use once they are known', () => {
    const before = node({ status: { volumesInUse: ['a'] } });
    const inUse = (volumesInUse: readonly string[] | undefined) =>
      withStatus(before, statusInput({ volumesInUse })).node.status.volumesInUse;
    expect([inUse(undefined), inUse([]), inUse(['b'])]).toEqual([['a'], [], ['b']]);
    const { metadata } = withStatus(before, statusInput({ csi: known(true, plugin('d')) })).node;
    expect(metadata.annotations).toEqual({ [NODE_IDS]: '{"d":"d-id"}' });
  });
});

describe('the CSINode', () => {
  const own = node();
  const driver = (name: string, more: object = {}) => ({ name, nodeID: `${name}-id`, topologyKeys: [], ...more });
  const made = (...drivers: CsiNode['spec']['drivers'] & object): CsiNode => ({
    metadata: { name: 'node0', ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: 'node0', uid: 'u1' }] },
    spec: { drivers },
  });
  const writes = (before: CsiNode, ...of: Parameters<typeof known>) =>
    csiNodeWrites(before, own, known(...of)).map(({ spec }) => spec.drivers);

  test('is owned by its Node object and contains the drivers', () => {
    const topology = { 'z.test/b': '1', 'z.test/a': '2' };
    const fresh = newCsiNode(
      own,
      known(false, plugin('a', { topology, maxVolumes: 2 ** 40 }), plugin('b', { maxVolumes: 0 })),
    );
    expect(fresh).toEqual({
      ...made(
        driver('a', { topologyKeys: ['z.test/a', 'z.test/b'], allocatable: { count: 2 ** 31 - 1 } }),
        driver('b'),
      ),
      ...{ apiVersion: 'storage.k8s.io/v1', kind: 'CSINode' },
    });
    expect(belongsTo(fresh, own.metadata)).toBe(true);
    expect(belongsTo(fresh, node({ metadata: { uid: 'u2' } }).metadata)).toBe(false);
  });

  test.each<[string, CsiNode, Parameters<typeof known>, unknown[][]]>([
    ['that matches the drivers is not written', made(driver('a')), [true, plugin('a')], []],
    ['is not written before any driver is known', made(driver('a')), [false], []],
    ['gets a new driver', made(driver('a')), [false, plugin('b')], [[driver('a'), driver('b')]]],
    ['loses a removed driver once all are known', made(driver('a')), [true, plugin('b')], [[driver('b')]]],
    ['with null drivers is not written', { ...made(), spec: { drivers: null } }, [true], []],
    [
      'is updated when the number of volumes changes',
      made(driver('a', { allocatable: { count: 1 } })),
      [true, plugin('a', { maxVolumes: 2 })],
      [[driver('a', { allocatable: { count: 2 } })]],
    ],
    [
      'has an entry replaced when the driver’s name for the node changes',
      made(driver('a', { nodeID: 'old' }), driver('b')),
      [true, plugin('a'), plugin('b')],
      [[driver('b')], [driver('a'), driver('b')]],
    ],
    [
      'has an entry replaced when the driver’s topology changes',
      made(driver('a', { topologyKeys: ['k'] })),
      [true, plugin('a')],
      [[], [driver('a')]],
    ],
  ])('%s', (_, before, of, expected) => expect(writes(before, ...of)).toEqual(expected));
});
