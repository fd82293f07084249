import { type PathStep, causalPath } from '@kubus/causality';
import { bareType } from '@kubus/contracts';
import type { BenchNode } from './bench-node.ts';
import { median } from './subject.ts';

/** The way of a pod from its manifest to Ready, by the node's own record. */
export interface PodPath {
  /** From the first message to the one that says Ready, in milliseconds. */
  readonly total: number;
  /** Of that, on the bus. */
  readonly onBus: number;
  readonly steps: readonly PathStep[];
}

/** The paths of several pods; the middle one by its total, and the share of the bus over all of them. */
export async function pathsOf(
  node: BenchNode,
  names: readonly string[],
): Promise<{ middle: PodPath | undefined; busShare: number }> {
  const paths: PodPath[] = [];
  for (const name of names) {
    const { messages, ready } = await node.story(name);
    if (ready === undefined) continue;
    const steps = causalPath(messages, ready);
    const onBus = steps.reduce((sum, step) => sum + step.onBus, 0);
    paths.push({ steps, onBus, total: ready.at - (steps[0]?.cause.at ?? ready.at) });
  }
  paths.sort((a, b) => a.total - b.total);
  return {
    middle: paths[Math.floor(paths.length / 2)],
    busShare: median(paths.map(({ onBus, total }) => onBus / total)),
  };
}

/** One line for each step: what was awaited, by whom, how long on the bus and how long at work. */
export function describePath({ steps, total, onBus }: PodPath): string[] {
  const lines = steps.map(({ cause, effect, onBus: bus, working }) => {
    const times = `${bus.toFixed(1).padStart(7)} ${working.toFixed(1).padStart(7)}`;
    return `${times}  ${bareType(cause.envelope.type)} -> ${effect.envelope.source} ${bareType(effect.envelope.type)}`;
  });
  const sums = `${onBus.toFixed(1).padStart(7)} ${(total - onBus).toFixed(1).padStart(7)}  together`;
  return ['    bus    work  (milliseconds)', ...lines, sums];
}
