import type { Figure } from './report.ts';
import { type Streams, moved, ways } from './streams.ts';

const goals = {
  /** Share of the rate of a direct connection to the runtime's streaming server. */
  share: 0.8,
  /** Growth of node-api's memory while streams are open. */
  growthMiB: 64,
};

/** The floor is a direct connection of the same client to the runtime's streaming server. */
export function streamFigures({ bytes, rates, memory, cpuPerGib }: Streams): Figure[] {
  const size = `${bytes / 1024 ** 2} MiB`;
  return [
    ...moved.flatMap((what) =>
      ways.flatMap((way): Figure[] => {
        const { direct, [way]: rate } = rates[what];
        const name = `${what}, ${size} over ${way === 'https' ? 'HTTPS' : 'the socket'}`;
        return [
          { name, unit: 'MB/s', floor: direct, kubus: rate, least: direct * goals.share },
          { name: `${name}: of the rate without node-api`, unit: '%', kubus: (rate / direct) * 100 },
        ];
      }),
    ),
    { name: 'streams: CPU of node-api and its relays per GiB', unit: 'ms', kubus: cpuPerGib },
    { name: 'streams: memory of node-api before (RSS)', unit: 'MiB', kubus: memory.before },
    {
      name: 'streams: memory of node-api at most (RSS)',
      unit: 'MiB',
      kubus: memory.peak,
      goal: memory.before + goals.growthMiB,
    },
  ];
}
