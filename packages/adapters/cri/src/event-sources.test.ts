import { describe, expect, it } from '@jest/globals';
import { criCodecs } from '@kubus/proto/cri-grpc';
import { Envelope, TaskDelete, TaskExit, TaskOOM } from '@kubus/proto/containerd-events';
import { sourcesOf } from './event-sources.ts';

describe('sourcesOf', () => {
  it.each([
    ['containerd', '1.6.20~ds1', ['containerd']],
    ['containerd', 'v1.7.24', ['containerd']],
    ['containerd', '2.1.9+unknown', ['cri', 'containerd']],
    ['containerd', 'v2.0.0', ['cri', 'containerd']],
    ['containerd', '10.1.0', ['cri', 'containerd']],
    ['cri-o', '1.33.0', ['cri', 'containerd']],
  ])('%s %s: %j', (runtimeName, runtimeVersion, names) => {
    expect(sourcesOf({ runtimeName, runtimeVersion }).map(({ name }) => name)).toEqual(names);
  });
});

const [cri, containerd] = sourcesOf({});

describe('hints from CRI', () => {
  const hint = (event: Parameters<typeof criCodecs.GetContainerEvents.encodeResponse>[0]) =>
    cri?.decode(criCodecs.GetContainerEvents.encodeResponse(event));

  it('carry the time to the nanosecond, and the pod', () => {
    const event = {
      containerId: 'c1',
      containerEventType: 'CONTAINER_STOPPED_EVENT' as const,
      createdAt: '1795176980077764542',
      podSandboxStatus: { metadata: { uid: 'u1' } },
    };
    expect(hint(event)).toEqual({
      containerId: 'c1',
      kind: 'stopped',
      at: '2026-11-20T12:16:20.077764542Z',
      podUid: 'u1',
    });
  });

  it('carry the states of the sandbox and its containers, and nothing else of them', () => {
    const event = {
      containerId: 'c1',
      createdAt: '1',
      podSandboxStatus: { id: 's1', state: 'SANDBOX_READY' as const, metadata: { uid: 'u1' } },
      containersStatuses: [{ id: 'c1', state: 'CONTAINER_RUNNING' as const, message: 'text of the container' }],
    };
    expect(hint(event)?.states).toEqual({
      sandbox: { id: 's1', state: 'SANDBOX_READY' },
      containers: [{ id: 'c1', state: 'CONTAINER_RUNNING' }],
    });
  });

  it('may lack the pod', () => {
    expect(hint({ containerId: 'c1', createdAt: '1' })).toEqual({
      containerId: 'c1',
      kind: 'created',
      at: '1970-01-01T00:00:00.000000001Z',
    });
  });

  it('are ignored if their kind is unknown', () => {
    // ContainerEventResponse: container_id (1) "c", container_event_type (2) 9.
    expect(cri?.decode(Uint8Array.of(0x0a, 0x01, 0x63, 0x10, 0x09))).toBeUndefined();
  });
});

describe('hints from containerd', () => {
  const hint = (type: string, value: Uint8Array) =>
    containerd?.decode(
      Envelope.encode({
        timestamp: { seconds: '1795176980', nanos: 5 },
        namespace: 'k8s.io',
        topic: '/tasks/x',
        event: { typeUrl: type, value: Buffer.from(value) },
      }).finish(),
    );

  it('report the end of a task', () => {
    const value = TaskDelete.encode({ containerId: 'c1', pid: 1, exitStatus: 0, exitedAt: undefined }).finish();
    expect(hint('containerd.events.TaskDelete', value)).toEqual({
      containerId: 'c1',
      kind: 'stopped',
      at: '2026-11-20T12:16:20.000000005Z',
    });
  });

  it('report an out-of-memory event, also with a type prefix', () => {
    const value = TaskOOM.encode({ containerId: 'c1' }).finish();
    expect(hint('containerd.events.TaskOOM', value)?.kind).toBe('oom');
    expect(hint('type.googleapis.com/containerd.events.TaskOOM', value)?.kind).toBe('oom');
  });

  it('ignore other events and empty envelopes', () => {
    const exit = { containerId: 'c1', id: 'c1', pid: 1, exitStatus: 0, exitedAt: undefined };
    expect(hint('containerd.events.TaskExit', TaskExit.encode(exit).finish())).toBeUndefined();
    expect(hint('containerd.events.ImageCreate', new Uint8Array())).toBeUndefined();
    expect(containerd?.decode(new Uint8Array())).toBeUndefined();
  });
});
