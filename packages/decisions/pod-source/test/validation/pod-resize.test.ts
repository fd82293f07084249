import { describe, expect, test } from '@jest/globals';
import { validatePodResize } from '../../src/index.ts';
import { type Parts, pod, texts } from './manifest-pod.ts';

const cpu = (amount: string, more: object = {}): object => ({ requests: { cpu: amount, ...more } });
const container = (resources: object, more: object = {}): Parts => ({ container: { resources, ...more } });
const init = (resources: object, more: object = {}): Parts => ({
  spec: { initContainers: [{ name: 'd', image: 'i', resources, ...more }] },
  container: { resources: cpu('1') },
});
const whole = (resources: object | undefined): Parts => ({ spec: { resources }, container: { resources: cpu('1') } });

describe('a resize changes CPU and memory', () => {
  test.each<[string, Parts, Parts, string[]]>([
    ['nothing', container(cpu('1')), container(cpu('1')), []],
    ['of a container', container(cpu('1')), container(cpu('2', { memory: '1Gi' })), []],
    [
      'to another class',
      container({}),
      container(cpu('1')),
      ['spec: Invalid value: "": Pod QOS Class may not change as a result of resizing'],
    ],
    [
      'to none',
      container(cpu('1', { memory: '1Gi' })),
      container({ requests: { memory: '1Gi' } }),
      ['spec.containers[0].resources.requests: Forbidden: resource requests cannot be removed'],
    ],
    [
      'and no other resource',
      container(cpu('1', { 'ephemeral-storage': '1Gi' })),
      container(cpu('1', { 'ephemeral-storage': '2Gi' })),
      ['spec: Forbidden: only cpu and memory resources are mutable'],
    ],
    [
      'and no policy',
      container(cpu('1')),
      container(cpu('1'), { resizePolicy: [{ resourceName: 'cpu', restartPolicy: 'RestartContainer' }] }),
      ['spec: Forbidden: only cpu and memory resources are mutable'],
    ],
    [
      'and no other field',
      container(cpu('1')),
      { ...container(cpu('2')), spec: { hostname: 'h' } },
      ['spec: Forbidden: only cpu and memory resources are mutable'],
    ],
    ['of an init container', init(cpu('1')), init(cpu('2')), []],
    [
      'of no init container that would restart',
      init(cpu('1'), { resizePolicy: [{ resourceName: 'cpu', restartPolicy: 'RestartContainer' }] }),
      init(cpu('2'), { resizePolicy: [{ resourceName: 'cpu', restartPolicy: 'RestartContainer' }] }),
      [
        'spec.initContainers[0]: Forbidden: non-sidecar init containers with a resize policy of RestartContainer cannot be resized',
      ],
    ],
    ['of the pod', whole(cpu('1')), whole(cpu('2')), []],
    ['of a pod that had none', whole(undefined), whole(cpu('2')), []],
    [
      'of a pod, not away',
      whole(cpu('1')),
      whole(undefined),
      ['spec.resources: Forbidden: pod-level resources cannot be removed'],
    ],
    [
      'of no renamed container',
      container(cpu('1')),
      container(cpu('1'), { name: 'd' }),
      ['spec.containers[0].name: Forbidden: containers may not be renamed or reordered on resize'],
    ],
    [
      'of no container more',
      container(cpu('1')),
      { spec: { containers: ['c', 'd'].map((name) => ({ name, image: 'i', resources: cpu('1') })) } },
      ['spec.containers: Forbidden: containers may not be added or removed on resize'],
    ],
    [
      'of no static pod',
      { ...container(cpu('1')), annotations: { 'kubernetes.io/config.mirror': 'x' } },
      container(cpu('2')),
      [': Forbidden: static pods cannot be resized'],
    ],
  ])('%s', (_, before, after, expected) => {
    expect(texts(validatePodResize(pod(after), pod(before)))).toEqual(expected);
  });

  test('of no pod on a node that does not know of it', () => {
    const running = { name: 'c', state: { running: {} }, ready: true, restartCount: 0, image: 'i', imageID: 'i' };
    const previous = { ...pod(container(cpu('1'))), status: { containerStatuses: [running] } };
    expect(texts(validatePodResize(pod(container(cpu('2'))), previous))).toEqual([
      'spec: Forbidden: Pod running on node without support for resize',
    ]);
  });
});
