import type { CriticalPath, Segment } from '@kubus/contracts/observatory';
import { nameOf } from './segments.ts';

/** What a step's time was spent on, by the command that it waited for, or else by its result; the first that matches. */
const parts: readonly (readonly [RegExp, string])[] = [
  [/StopContainer|StopPodSandbox|RemovePodSandbox|RemoveContainer/, 'the end of its containers'],
  [/RunPodSandbox|^network\./, 'the sandbox'],
  [/[iI]mage/, 'the images'],
  [/^runtime\.fact\.condition/, 'the readiness of the runtime'],
  [/^(volume|object)\./, 'the volumes'],
  [/^device\./, 'the devices'],
  [/^runtime\./, 'the containers'],
  [/^probe\./, 'the probes'],
];

/** What the services do themselves: decide, send commands, publish. */
const decisions = 'the decisions between';

/** How long a path spent on one thing. */
export interface PathPart {
  readonly what: string;
  readonly ms: number;
}

/** What the path spent most time on; undefined for a path without time. */
export function largestPart({ segments }: Pick<CriticalPath, 'segments'>): PathPart | undefined {
  const sums = new Map<string, number>();
  for (const segment of segments) sums.set(partOf(segment), (sums.get(partOf(segment)) ?? 0) + segment.ms);
  const [largest] = [...sums].sort(([, a], [, b]) => b - a);
  return largest === undefined || largest[1] <= 0 ? undefined : { what: largest[0], ms: largest[1] };
}

function partOf({ cause, effect }: Segment): string {
  if (effect.kind === 'cmd') return decisions;
  const name = nameOf(cause.kind === 'cmd' ? cause : effect);
  return parts.find(([pattern]) => pattern.test(name))?.[1] ?? decisions;
}
