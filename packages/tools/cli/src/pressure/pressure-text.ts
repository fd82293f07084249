import type { EvictionRanking, NodeSignal, NodeThreshold, PressureReport, RankedPod } from '@kubus/contracts';
import { amount, isOfBytes } from '@kubus/causality';
import { formatAge } from '@kubus/pod';
import { formatTable } from '../output/table.ts';

const NONE = '-';

/** What a node has left, when that reaches its thresholds, and which pods would go, for people. */
export function pressureText(report: PressureReport): string {
  const { thresholds, conditions, ranking } = report;
  const parts = [
    conditions.length === 0 ? 'The node is short of nothing.' : `The node is short: ${conditions.join(', ')}.`,
    signalTable(report),
    ...(thresholds.length === 0 ? [NO_THRESHOLDS] : []),
    ...(ranking === undefined ? [] : [rankingText(ranking)]),
  ];
  return parts.join('\n\n');
}

const NO_THRESHOLDS =
  'The node has no thresholds: it evicts no pod for lack of memory, disk space, inodes or process IDs, and has none of the conditions. ' +
  'A private node gets them with kubus up --config FILE (evictionHard).';

function signalTable({ signals, thresholds }: PressureReport): string {
  const rows = signals.flatMap((signal) => {
    const own = thresholds.filter((one) => one.signal === signal.signal);
    return own.length === 0 ? [row(signal, undefined)] : own.map((one) => row(signal, one));
  });
  const unread = thresholds.filter((one) => signals.every(({ signal }) => signal !== one.signal));
  const header = ['SIGNAL', 'AVAILABLE', 'OF', 'CHANGE', 'THRESHOLD', 'GRACE', 'REACHED'];
  return formatTable(header, [...rows, ...unread.map((one) => row(undefined, one))]);
}

function row(signal: NodeSignal | undefined, threshold: NodeThreshold | undefined): string[] {
  const name = signal?.signal ?? threshold?.signal ?? '';
  return [
    name,
    signal === undefined ? 'unknown' : amount(name, signal.available),
    signal === undefined ? NONE : amount(name, signal.capacity),
    signal?.perSecond === undefined ? NONE : change(name, signal.perSecond),
    threshold === undefined ? NONE : limit(name, threshold),
    threshold === undefined || threshold.graceSeconds === 0 ? NONE : formatAge(threshold.graceSeconds * 1000),
    threshold === undefined ? NONE : reached(threshold),
  ];
}

function limit(signal: string, { value, amount: units }: NodeThreshold): string {
  return value.endsWith('%') && units !== undefined ? `${value} (${amount(signal, units)})` : value;
}

function reached({ since, secondsLeft }: NodeThreshold): string {
  if (since !== undefined) return `since ${since.slice(11, 19)}`;
  return secondsLeft === undefined ? 'no' : `in ${formatAge(secondsLeft * 1000)}`;
}

function change(signal: string, perSecond: number): string {
  const sign = perSecond < 0 ? '-' : '+';
  return `${sign}${amount(signal, Math.round(Math.abs(perSecond)))}/s`;
}

function rankingText({ signal, pods, leftOut }: EvictionRanking): string {
  if (pods.length === 0) return `No pod runs that could be evicted for ${signal}.`;
  let turn = 0;
  const rows = pods.map((one) => [one.critical ? 'never' : String(++turn), ...numbers(signal, one)]);
  const table = formatTable(['ORDER', 'NAMESPACE', 'NAME', 'ABOVE REQUEST', 'PRIORITY', 'USES', 'REQUESTS'], rows);
  const more = leftOut === 0 ? '' : `\n... and ${leftOut} more`;
  return `For ${signal} would go:\n\n${table}${more}`;
}

function numbers(signal: string, { ref, exceeds, priority, used, requested }: RankedPod): string[] {
  return [
    ...[ref.namespace, ref.name, exceeds ? 'yes' : 'no', String(priority)],
    used === undefined ? 'unknown' : amount(signal, used),
    isOfBytes(signal) ? amount(signal, requested) : NONE,
  ];
}
