import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { ConfigError } from '@kubus/service-kit';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { machineTopology } from '../src/devices/numa-nodes.ts';

const usual = { topologyPolicy: 'restricted', topologyScope: 'container' } as const;
const closest = { ...usual, preferClosestNodes: true };

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'kubus-numa-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

function online(text: string, rows: Readonly<Record<number, string>> = {}): void {
  writeFileSync(join(folder, 'online'), `${text}\n`);
  for (const [node, row] of Object.entries(rows)) {
    mkdirSync(join(folder, `node${node}`));
    writeFileSync(join(folder, `node${node}/distance`), `${row}\n`);
  }
}

test('the NUMA nodes are those that are online', () => {
  online('0-1,4');
  expect(machineTopology(usual, folder)).toEqual({ policy: 'restricted', nodes: [0, 1, 4], distances: undefined });
});

test('a kernel that lists no NUMA nodes has one', () => {
  expect(machineTopology(usual, folder).nodes).toEqual([0]);
});

test('this machine has some', () => {
  expect(machineTopology(usual).nodes).toContain(0);
});

test('distances are read when the policy needs them', () => {
  online('0,2', { 0: '10 21', 2: '21 10' });
  expect(machineTopology(closest, folder).distances).toEqual([
    [10, 21],
    [21, 10],
  ]);
});

test.each([
  ['no file', {}],
  ['too few', { 0: '10', 2: '21 10' }],
  ['no numbers', { 0: '10 far', 2: '21 10' }],
])('the service does not start without distances: %s', (_, rows) => {
  online('0,2', rows);
  const message = `devices.preferClosestNodes: ${folder}/node0/distance does not list the distances of all NUMA nodes`;
  expect(() => machineTopology(closest, folder)).toThrow(new ConfigError('bad-config', message));
});

test('the service does not start on a machine with too many NUMA nodes, unless the policy is none', () => {
  online('0-8');
  const message =
    'devices.topologyPolicy: "restricted" is unsupported on machines with more than 8 NUMA nodes: this one has 9';
  expect(() => machineTopology(usual, folder)).toThrow(new ConfigError('bad-config', message));
  expect(machineTopology({ ...usual, mostNodes: 9 }, folder).nodes).toHaveLength(9);
  expect(machineTopology({ ...usual, topologyPolicy: 'none' }, folder).policy).toBe('none');
});
