import type { CriticalPath } from '@kubus/contracts/observatory';
import type { BenchNode } from './bench-node.ts';
import { median } from './subject.ts';

/** The critical paths of several pods from manifest to Ready, from the node's record: the median one, and the median share of the bus. */
export async function pathsOf(
  node: BenchNode,
  names: readonly string[],
): Promise<{ middle: CriticalPath | undefined; busShare: number }> {
  const paths: CriticalPath[] = [];
  for (const name of names) {
    const path = (await node.story(name)).paths.find(({ what }) => what === 'start');
    if (path !== undefined) paths.push(path);
  }
  paths.sort((a, b) => a.ms - b.ms);
  return {
    middle: paths[Math.floor(paths.length / 2)],
    busShare: median(paths.map(({ busMs, ms }) => busMs / ms)),
  };
}

/** One line per step: time on the bus, in a queue and at work, and the awaited message with its service. */
export function describePath({ segments, busMs, queueMs, workMs }: CriticalPath): string[] {
  const line = (times: readonly number[], text: string) =>
    `${times.map((ms) => ms.toFixed(1).padStart(7)).join(' ')}  ${text}`;
  return [
    '    bus   queue    work  (milliseconds)',
    ...segments.map((segment) => line([segment.busMs, segment.queueMs, segment.workMs], segment.step)),
    line([busMs, queueMs, workMs], 'total'),
  ];
}
