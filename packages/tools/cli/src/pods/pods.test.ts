import { describe, expect, test } from '@jest/globals';
import type { ContainerStatus, PodStatus } from '@kubus/contracts';
import { ObjectTable } from '../output/object-printer.ts';
import { podItem, pods } from '../resources/pods.ts';
import { type PodView, columnsOf, podDocument } from './pods.ts';

const ref = { uid: 'u1', name: 'web-node0', namespace: 'default' };

function view(status: PodStatus | undefined, work: Partial<PodView['work']> = {}): PodView {
  const pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { ...ref, labels: { app: 'web' } },
    spec: { containers: [{ name: 'a' }, { name: 'b' }] },
  };
  const present = { ref, pod, source: 'file', work: 'sync', reason: '', worker: 'pod-workers-0' } as const;
  return {
    uid: ref.uid,
    work: { ...present, firstSeen: '2030-01-01T00:00:00Z', ...work },
    status,
    worker: undefined,
  };
}

const statusOf = (pod: PodView) => columnsOf(pod).status;

type State = ContainerStatus['state'];

function containers(...states: readonly [State, boolean?][]): PodStatus['containerStatuses'] {
  return states.map(([state, ready = false], index) => ({
    name: String(index),
    ready,
    restartCount: index,
    image: 'x',
    imageID: '',
    ...(state !== undefined && { state }),
  }));
}

const running: [State, boolean] = [{ running: {} }, true];
const waiting = (reason: string): [State] => [{ waiting: { reason } }];
const ended = (exitCode: number, more: object = {}): [State] => [{ terminated: { exitCode, ...more } }];
const ready = [{ type: 'Ready', status: 'True' }];

describe('the STATUS column of a pod', () => {
  test.each<[string, PodStatus | undefined]>([
    ['Pending', undefined],
    ['Pending', { phase: 'Pending' }],
    ['Running', { phase: 'Running', containerStatuses: containers(running, running) }],
    ['Evicted', { phase: 'Failed', reason: 'Evicted' }],
    ['Pending', { phase: 'Pending', reason: '' }],
    ['ContainerCreating', { phase: 'Pending', containerStatuses: containers(waiting('ContainerCreating'), running) }],
    ['CrashLoopBackOff', { phase: 'Running', containerStatuses: containers(running, waiting('CrashLoopBackOff')) }],
    ['ErrImagePull', { phase: 'Pending', containerStatuses: containers(waiting('ErrImagePull'), waiting('Other')) }],
    ['Running', { phase: 'Running', containerStatuses: containers(waiting(''), running) }],
    ['Completed', { phase: 'Succeeded', containerStatuses: containers(ended(0, { reason: 'Completed' })) }],
    ['Error', { phase: 'Failed', containerStatuses: containers(ended(1, { reason: 'Error' })) }],
    ['OOMKilled', { phase: 'Running', containerStatuses: containers(running, ended(137, { reason: 'OOMKilled' })) }],
    ['ExitCode:7', { phase: 'Failed', containerStatuses: containers(ended(7)) }],
    ['ExitCode:7', { phase: 'Failed', containerStatuses: containers(ended(7, { reason: '' })) }],
    ['Signal:9', { phase: 'Failed', containerStatuses: containers(ended(137, { signal: 9 })) }],
    ['Error', { phase: 'Failed', reason: 'Evicted', containerStatuses: containers(ended(1, { reason: 'Error' })) }],
    [
      'Running',
      {
        phase: 'Running',
        conditions: ready,
        containerStatuses: containers(running, ended(0, { reason: 'Completed' })),
      },
    ],
    ['NotReady', { phase: 'Running', containerStatuses: containers(running, ended(0, { reason: 'Completed' })) }],
  ])('%s: %j', (word, status) => {
    expect(statusOf(view(status))).toBe(word);
  });

  test('is Terminating while a deleted pod has running containers', () => {
    const crashing = { phase: 'Running', containerStatuses: containers(waiting('CrashLoopBackOff')) };
    const done = { phase: 'Succeeded', containerStatuses: containers(ended(0, { reason: 'Completed' })) };
    expect(statusOf(view(crashing, { work: 'kill' }))).toBe('Terminating');
    expect(statusOf(view(undefined, { work: 'kill', pod: undefined }))).toBe('Terminating');
    expect(statusOf(view(done, { work: 'kill' }))).toBe('Completed');
    const metadata = { ...ref, deletionTimestamp: '2030-01-01T00:00:00Z' };
    const pod = { apiVersion: 'v1', kind: 'Pod', metadata, spec: { containers: [] } };
    expect(statusOf(view(crashing, { pod }))).toBe('Terminating');
  });
});

function linesOf(table: ObjectTable, ...views: PodView[]): string[] {
  return table
    .table(
      views.map((one) => podItem(one, 'node0')),
      Date.now(),
    )
    .split('\n');
}

describe('pods', () => {
  const startTime = new Date(Date.now() - 5 * 3_600_000 - 1_000).toISOString();
  const status: PodStatus = {
    phase: 'Running',
    podIP: '10.0.0.2',
    startTime,
    conditions: ready,
    containerStatuses: containers(running, waiting('CrashLoopBackOff')),
  };

  test('are printed with the columns of kubectl', () => {
    const narrow = new ObjectTable(pods, { format: undefined, withNamespace: false });
    expect(linesOf(narrow, view(status))).toEqual([
      'NAME        READY   STATUS             RESTARTS   AGE',
      'web-node0   1/2     CrashLoopBackOff   1          5h',
    ]);
    const wide = new ObjectTable(pods, { format: { kind: 'wide' }, withNamespace: true });
    const lines = linesOf(wide, view(status), view(undefined)).map((line) => line.split(/\s{3}\s*/));
    const header = ['NAMESPACE', 'NAME', 'READY', 'STATUS', 'RESTARTS', 'AGE', 'IP', 'NODE'];
    expect(lines[0]).toEqual([...header, 'NOMINATED NODE', 'READINESS GATES']);
    const row = ['default', 'web-node0', '1/2', 'CrashLoopBackOff', '1', '5h', '10.0.0.2', 'node0'];
    expect(lines[1]).toEqual([...row, '<none>', '<none>']);
    expect(lines[2]?.slice(2, 5)).toEqual(['0/2', 'Pending', '0']);
    expect(lines[2]?.slice(6)).toEqual(['<none>', 'node0', '<none>', '<none>']);
    // A row that comes later has the same widths.
    expect(narrow.line(podItem(view(undefined), 'node0'), Date.now())).toMatch(
      /^web-node0 {3}0\/2 {5}Pending {12}0 {10}\d+/,
    );
  });

  test('are printed again only when something other than a time has changed', () => {
    const table = new ObjectTable(pods, { format: undefined, withNamespace: false });
    const restarted = (finishedAt: string) => {
      const containerStatuses = (containers(running, running) ?? []).map((one) => ({
        ...one,
        lastState: { terminated: { exitCode: 1, finishedAt } },
      }));
      return podItem(view({ ...status, containerStatuses }), 'node0');
    };
    const first = table.fixed(restarted('2030-01-01T00:00:00Z'));
    expect(table.fixed(restarted('2031-01-01T00:00:00Z'))).toBe(first);
    expect(table.fixed(podItem(view({ ...status, phase: 'Failed', reason: 'Evicted' }), 'node0'))).not.toBe(first);
  });

  test('are printed as API objects with -o json', () => {
    expect(podDocument(view(status))).toEqual({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { ...ref, labels: { app: 'web' } },
      spec: { containers: [{ name: 'a' }, { name: 'b' }] },
      status,
    });
    expect(podDocument(view(undefined, { pod: undefined }))).toEqual({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: ref,
      spec: { containers: [] },
    });
  });
});
