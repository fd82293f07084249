import type { DnsRecord, Zone } from './zone.ts';

/** A question of class IN. */
interface Question {
  readonly name: string;
  /** Such as `A`, `SRV`, `ANY`. */
  readonly type: string;
}

/** A record with its owner, as it is written in the answer. */
export type OwnedRecord = DnsRecord & { readonly name: string };

/** What becomes of a question. */
type Answer =
  /** It is not about this node. */
  | { readonly kind: 'forward' }
  /**
   * `missing`: there is no such name (NXDOMAIN). Without records otherwise: none of this type (NODATA). `alias`: where the answer goes on, at a name
   * that is not of this node.
   */
  | {
      readonly kind: 'own';
      readonly missing: boolean;
      readonly records: readonly OwnedRecord[];
      readonly additional: readonly OwnedRecord[];
      readonly alias?: string;
    };

/** How many aliases are followed within the domain: those of users may form a circle. */
const ALIASES = 8;

/**
 * The answer to a question.
 *
 * @param turn any number; records are in another order for each, so that clients which take the first share the endpoints.
 */
export function answerTo(zone: Zone, { name: asked, type }: Question, turn = 0): Answer {
  const name = asked.toLowerCase().replace(/\.$/, '');
  if (!isOf(zone, name)) {
    // Addresses of the node have names; all others are for the machine's resolvers.
    if (!isReverse(name) || !zone.records.has(name)) return { kind: 'forward' };
  }
  const chain: OwnedRecord[] = [];
  // The owner is written as in the question.
  let owner = asked;
  let at = name;
  for (let step = 0; step < ALIASES; step += 1) {
    const found = zone.records.get(at) ?? [];
    const alias = found.find((record) => record.type === 'CNAME');
    if (alias?.type !== 'CNAME' || type === 'CNAME') {
      const matching = found.filter((record) => type === 'ANY' || record.type === type);
      const records = turned(matching, turn).map((record) => ({ ...record, name: owner }));
      const missing = found.length === 0 && !zone.between.has(at);
      return { kind: 'own', missing, records: [...chain, ...records], additional: targetsOf(zone, records) };
    }
    chain.push({ ...alias, name: owner });
    if (type === 'ANY') break;
    at = alias.data;
    owner = at;
    if (!isOf(zone, at)) return { kind: 'own', missing: false, records: chain, additional: [], alias: at };
  }
  return { kind: 'own', missing: false, records: chain, additional: [] };
}

const isOf = ({ domain }: Zone, name: string) => domain !== '' && (name === domain || name.endsWith(`.${domain}`));

const isReverse = (name: string) => name.endsWith('.in-addr.arpa') || name.endsWith('.ip6.arpa');

function turned<T>(list: readonly T[], turn: number): readonly T[] {
  const first = list.length === 0 ? 0 : turn % list.length;
  return [...list.slice(first), ...list.slice(0, first)];
}

/** The addresses of the targets of SRV records. */
function targetsOf(zone: Zone, records: readonly OwnedRecord[]): readonly OwnedRecord[] {
  return records.flatMap((record) => {
    if (record.type !== 'SRV') return [];
    const { target: name } = record.data;
    return (zone.records.get(name) ?? []).map((address) => ({ ...address, name }));
  });
}
