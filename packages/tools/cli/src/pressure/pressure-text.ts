import { pressureDocument } from '@kubus/causality';
import type { PressureReport } from '@kubus/contracts';
import type {
  PressureDocument,
  RankingDocument,
  SignalDocument,
  ThresholdDocument,
} from '@kubus/contracts/observatory';
import { formatAge } from '@kubus/pod';
import { formatTable } from '../output/table.ts';
import { rankingTable } from './ranking-text.ts';

const NONE = '-';

/** What a node has left, when that reaches its thresholds, and which pods would go, for people. */
export function pressureText(report: PressureReport): string {
  const { signals, conditions, ranking } = pressureDocument(report);
  const parts = [
    conditions.length === 0 ? 'The node is short of nothing.' : `The node is short: ${conditions.join(', ')}.`,
    signalTable(signals),
    ...(signals.every(({ thresholds }) => thresholds.length === 0) ? [NO_THRESHOLDS] : []),
    ...(ranking === undefined ? [] : [rankingText(ranking)]),
  ];
  return parts.join('\n\n');
}

const NO_THRESHOLDS =
  'The node has no thresholds: it evicts no pod for lack of memory, disk space, inodes or process IDs, and has none of the conditions. ' +
  'A private node gets them with kubus up --config FILE (evictionHard).';

function signalTable(signals: PressureDocument['signals']): string {
  const rows = signals.flatMap((signal) =>
    signal.thresholds.length === 0 ? [row(signal, undefined)] : signal.thresholds.map((one) => row(signal, one)),
  );
  return formatTable(['SIGNAL', 'AVAILABLE', 'OF', 'CHANGE', 'THRESHOLD', 'GRACE', 'REACHED'], rows);
}

function row(
  { signal, available = 'unknown', capacity = NONE, change = NONE }: SignalDocument,
  threshold: ThresholdDocument | undefined,
): string[] {
  return [
    ...[signal, available, capacity, change, threshold?.value ?? NONE],
    threshold === undefined || threshold.graceSeconds === 0 ? NONE : formatAge(threshold.graceSeconds * 1000),
    threshold === undefined ? NONE : reached(threshold),
  ];
}

function reached({ since, secondsLeft }: ThresholdDocument): string {
  if (since !== undefined) return `since ${new Date(since).toISOString().slice(11, 19)}`;
  return secondsLeft === undefined ? 'no' : `in ${formatAge(secondsLeft * 1000)}`;
}

function rankingText(ranking: RankingDocument): string {
  const { signal, pods } = ranking;
  if (pods.length === 0) return `No pod runs that could be evicted for ${signal}.`;
  return `For ${signal} would go:\n\n${rankingTable(ranking)}`;
}
