import { rankingDocument, whyThisPod } from '@kubus/causality';
import type { EvictionDecision } from '@kubus/contracts';
import type { RankedPodDocument, RankingDocument } from '@kubus/contracts/observatory';
import { formatTable } from '../output/table.ts';

const HEADER = ['ORDER', 'NAMESPACE', 'NAME', 'ABOVE REQUEST', 'PRIORITY', 'USES', 'REQUESTS'];

/** The pods in the order in which they go, with the numbers that decide it. */
export function rankingTable({ pods, leftOut }: RankingDocument): string {
  return `${formatTable(HEADER, pods.map(row))}${leftOut === 0 ? '' : `\n... and ${leftOut} more`}`;
}

/** Why it was this pod that was evicted, and every other that was considered. */
export function evictionText(decision: EvictionDecision, uid: string): string {
  const candidates = rankingTable(rankingDocument(decision.ranking));
  return `Why this pod: ${whyThisPod(decision, uid)}\n\n${candidates}`;
}

function row({ order, namespace, name, aboveRequest, priority, uses, requests }: RankedPodDocument): string[] {
  return [
    ...[order === undefined ? 'never' : String(order), namespace, name, aboveRequest ? 'yes' : 'no', String(priority)],
    ...[uses ?? 'unknown', requests ?? '-'],
  ];
}
