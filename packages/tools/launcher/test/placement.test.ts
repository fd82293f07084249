import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type Placement, hostable, nodeServices } from '@kubus/service-kit';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { checkOwnProcess, instancesIn, processOf, runsServices, serviceProcesses } from '../src/node/node-services.ts';
import { readPlacement } from '../src/node/placement.ts';

let folder = '';
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'placement-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

function fileWith(text: string): string {
  const file = join(folder, 'groups.yaml');
  writeFileSync(file, text);
  return file;
}

const groups = {
  control: ['config-sources', 'sync-loop', 'pod-workers'],
  status: ['prober', 'status-manager'],
} as const;
const shape = (placement: Placement) => ({ placement, instances: {} });
const mutable = { control: [...groups.control], status: [...groups.status] };

test('a placement is a word, or the groups of a file', () => {
  expect(readPlacement('separate')).toBe('separate');
  expect(readPlacement('hosted')).toBe('hosted');
  const file = fileWith(
    'groups:\n  control: [config-sources, sync-loop, pod-workers]\n  status: [prober, status-manager]\n',
  );
  expect(readPlacement(file)).toEqual(groups);
});

test.each([
  ['groups: {control: [sync-loop, nobody]}', /groups\.yaml: groups\.control\.1: .*"sync-loop"/],
  ['groups: {a: [sync-loop, prober], b: [node-api, prober]}', /groups\.b\.1: prober is named twice/],
  ['groups: {a: [prober]}', /groups\.a: a group has at least two services/],
  ['groups: {pod-workers-0: [prober, node-api]}', /groups\.pod-workers-0: .*/],
  ['groups: {}', /groups: there is no group/],
  ['group: {a: [prober, node-api]}', /groups\.yaml: groups: /],
  ['a: [', /groups\.yaml: /],
  ['', /groups\.yaml: /],
])('a file with %j is refused, with file and field', (text, message) => {
  expect(() => readPlacement(fileWith(text))).toThrow(message);
});

test('no file, and one that is too large, are refused', () => {
  expect(() => readPlacement(join(folder, 'nothing'))).toThrow(/ENOENT/);
  expect(() => readPlacement(folder)).toThrow(/it is not a file/);
  expect(() => readPlacement(fileWith('#'.repeat(70_000)))).toThrow(/more than 65536/);
});

describe('the processes of a node', () => {
  test('one for each service', () => {
    expect(serviceProcesses(shape('separate'))).toEqual(nodeServices.map((service) => `${service}-0`));
  });

  test('one for all services that it has; further instances have their own', () => {
    expect(serviceProcesses({ placement: 'hosted', instances: { prober: 2 }, observatory: true })).toEqual([
      'services',
      'prober-1',
      'observatory-0',
    ]);
    expect(instancesIn('services', shape('hosted'))).toHaveLength(nodeServices.length);
    expect(instancesIn('services', { placement: 'hosted', kubeconfig: '/k' })).toHaveLength(hostable.length);
  });

  test('one for each group of which it has at least two services', () => {
    expect(serviceProcesses(shape(mutable))).toEqual([
      ...['cni-bridge-0', 'cri-bridge-0', 'volume-manager-0', 'services-control', 'prober-0'],
      ...['node-agent-0', 'node-api-0'],
    ]);
    expect(instancesIn('services-status', { placement: mutable, kubeconfig: '/k' })).toEqual([
      'prober-0',
      'status-manager-0',
    ]);
  });

  test('kube-api has its own where all others share one, and is in one that a group names', () => {
    expect(serviceProcesses({ ...shape('hosted'), api: true })).toEqual(['services', 'kube-api-0']);
    const grouped = { ...shape({ api: ['kube-api', 'status-manager'] as const }), api: true };
    expect(instancesIn('services-api', grouped)).toEqual(['kube-api-0', 'status-manager-0']);
  });

  test('a service that the user runs shares none', () => {
    const node = { ...shape('hosted'), elsewhere: ['sync-loop'] };
    expect(serviceProcesses(node)).toEqual(['services', 'sync-loop-0']);
    expect(instancesIn('services', node)).not.toContain('sync-loop-0');
    expect(() => checkOwnProcess('sync-loop', node)).not.toThrow();
  });

  test('a service that is moved out has its own; the others keep theirs, even if only one is left', () => {
    const node = { ...shape('hosted'), movedOut: ['sync-loop' as const] };
    expect(serviceProcesses(node)).toEqual(['services', 'sync-loop-0']);
    expect(instancesIn('services', node)).not.toContain('sync-loop-0');
    const left = { ...shape({ two: ['prober', 'sync-loop'] as const }), movedOut: ['sync-loop' as const] };
    expect([processOf('prober-0', left), processOf('sync-loop-0', left)]).toEqual(['services-two', 'sync-loop-0']);
  });

  test('are distinguished from others by their names', () => {
    const names = ['services', 'services-control', 'prober-1', 'launcher', 'nats-server', 'containerd'];
    expect(names.filter(runsServices)).toEqual(['services', 'services-control', 'prober-1']);
  });

  test('a command for a service that shares its process names the process', () => {
    expect(processOf('sync-loop-0', shape(mutable))).toBe('services-control');
    expect(() => checkOwnProcess('sync-loop', shape(mutable))).toThrow(
      'use "services-control", which means config-sources-0, sync-loop-0, pod-workers-0',
    );
    expect(() => checkOwnProcess('pod-workers-1', shape(mutable))).not.toThrow();
  });
});
