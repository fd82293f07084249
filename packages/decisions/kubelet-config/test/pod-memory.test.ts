// Which gates and fields change how pods share memory, on which machine (KEP-2570, KEP-2400).
import { describe, expect, test } from '@jest/globals';
import { type Machine, parseCommandLine, resolve } from '../src/index.ts';

const head = 'apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nfailCgroupV1: false\n';
const v2: Machine = { cgroupVersion: 2, swap: false, kernel: '6.12.117+deb13-amd64' };
const v1: Machine = { ...v2, cgroupVersion: 1 };

function settings(text: string, machine = v2) {
  return resolve({ commandLine: parseCommandLine([]), file: { path: '/k', text: head + text }, dropIns: [], machine });
}

describe('how pods share memory', () => {
  const nothing = { qos: undefined, reservedPercent: undefined, limitedSwap: false };
  const tiered = 'featureGates: {MemoryQoS: true}\nmemoryReservationPolicy: TieredReservation\n';

  test.each<[string, Machine, object]>([
    ['', v2, nothing],
    ['memoryThrottlingFactor: 0.5\nqosReserved: {memory: 50%}\n', v2, nothing],
    ['featureGates: {MemoryQoS: true}\n', v2, { ...nothing, qos: { throttlingFactor: 0.9, reservation: 'None' } }],
    [tiered, v2, { ...nothing, qos: { throttlingFactor: 0.9, reservation: 'TieredReservation' } }],
    [tiered, v1, nothing],
    ['featureGates: {QOSReserved: true}\nqosReserved: {memory: 50%}\n', v1, { ...nothing, reservedPercent: 50 }],
    ['featureGates: {QOSReserved: true}\nqosReserved: {memory: 0%}\n', v2, { ...nothing, reservedPercent: 0 }],
    ['featureGates: {QOSReserved: true}\n', v2, nothing],
    ['memorySwap: {swapBehavior: LimitedSwap}\n', v2, { ...nothing, limitedSwap: true }],
    ['memorySwap: {swapBehavior: LimitedSwap}\n', v1, nothing],
    ['memorySwap: {swapBehavior: NoSwap}\n', v2, nothing],
  ])('with %j on %j', (text, machine, expected) => {
    expect(settings(text, machine).podMemory).toEqual(expected);
  });

  test.each<[string, Machine, string[]]>([
    [tiered, v2, []],
    [tiered, v1, ['featureGates.MemoryQoS only works with cgroups v2 on Linux, but enabled with cgroups v1']],
    [
      tiered,
      { ...v2, kernel: '5.4.0-1' },
      ['featureGates.MemoryQoS may cause process livelock on kernels older than 5.9'],
    ],
    [tiered, { ...v2, kernel: '5.10.0' }, []],
    ['qosReserved: {memory: 50%}\n', v2, ['qosReserved requires the QOSReserved feature gate to be enabled']],
    ['featureGates: {QOSReserved: true}\nqosReserved: {memory: 50%}\n', v2, []],
    ['kubeletCgroups: /a\nkubeReservedCgroup: /b\n', v2, ['kubeletCgroups is not within kubeReservedCgroup']],
    ['kubeletCgroups: /b/a\nkubeReservedCgroup: /b\n', v2, []],
  ])('has notes with %j on %j', (text, machine, expected) => {
    expect(settings(text, machine).notes.map((note) => `${note.setting} ${note.text}`)).toEqual(expected);
  });
});
