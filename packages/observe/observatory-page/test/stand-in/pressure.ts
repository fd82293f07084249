import type { PodSummary, PressureDocument, SignalDocument } from '@kubus/contracts/observatory';

const GIB = 1024;

interface Shown {
  readonly pods: readonly PodSummary[];
  /** The pods are ranked for it; null: for the nearest. */
  readonly signal: string | null;
  /** Whether the node has any. */
  readonly thresholds: boolean;
}

/** A node whose memory has been falling for ten minutes below a soft threshold and towards a hard one. */
export function pressureOf({ pods, signal, thresholds }: Shown): PressureDocument {
  const now = Date.now();
  const ranked = signal ?? (thresholds ? 'memory.available' : undefined);
  const signals = signalsAt(now).map((one) => (thresholds ? one : { ...one, thresholds: [] }));
  return {
    ...{ conditions: thresholds ? ['MemoryPressure'] : [], transitionSeconds: 300, signals },
    ...(ranked !== undefined && {
      ranking: {
        signal: ranked,
        leftOut: 3,
        pods: pods.map(({ namespace, name, uid }, index) => ({
          ...{ namespace, name, uid, aboveRequest: index < 4, priority: index === 1 ? 2_000_000_000 : 0 },
          ...(index !== 1 && { order: index === 0 ? 1 : index }),
          ...(index !== 5 && { uses: `${(2.4 * GIB - index * 8).toFixed(1)} MiB`, requests: '128.0 MiB' }),
        })),
      },
    }),
  };
}

function signalsAt(now: number): SignalDocument[] {
  const course = (from: number, to: number) =>
    Array.from({ length: 61 }, (_, index) => ({
      at: now - (60 - index) * 10_000,
      part: from + ((to - from) * index) / 60,
    }));
  return [
    {
      ...{ signal: 'memory.available', available: '0.6 GiB', capacity: '7.6 GiB', change: '-6.0 MiB/s' },
      thresholds: [
        { value: '200.0 MiB', part: 0.026, graceSeconds: 0, secondsLeft: 68 },
        { value: '10% (778.2 MiB)', part: 0.1, graceSeconds: 90, since: now - 30_000, secondsLeft: 0 },
      ],
      curve: course(0.55, 0.08),
    },
    {
      ...{ signal: 'nodefs.available', available: '31.0 GiB', capacity: '40.0 GiB', change: '+0 B/s' },
      thresholds: [{ value: '10% (4.0 GiB)', part: 0.1, graceSeconds: 0 }],
      curve: course(0.775, 0.775),
    },
    {
      ...{ signal: 'pid.available', available: '32100', capacity: '32768' },
      ...{ thresholds: [], curve: course(0.98, 0.98).slice(-1) },
    },
    { signal: 'imagefs.available', thresholds: [{ value: '15%', graceSeconds: 0 }], curve: [] },
  ];
}
