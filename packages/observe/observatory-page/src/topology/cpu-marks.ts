import type { CpuOwner, TopologyDocument } from '@kubus/contracts/observatory';

/** How a CPU is drawn, and what is said of it. */
export interface CpuMark {
  readonly kind: CpuOwner['kind'];
  /** A letter of its owner, so that colour is not the only sign. */
  readonly mark: string;
  /** From 0 to 14: the colour of an owner. */
  readonly color: number;
  readonly words: string;
}

/** Of a theme's colours. */
const COLORS = 15;
const NONE: CpuMark = { kind: 'shared', mark: '', color: 0, words: 'unknown' };

/** The mark of each row of who has CPUs. `A`, `B` ... `Z`, `A1`: containers with CPUs of their own. */
export function ownerMarks(cpus: TopologyDocument['cpus']): readonly CpuMark[] {
  let own = 0;
  return cpus.map(({ kind, who }) => {
    const mark = { reserved: 'r', shared: '·', isolated: 'i', offline: '–' };
    if (kind !== 'own') return { kind, mark: mark[kind], color: 0, words: who };
    const round = Math.floor(own / 26);
    const letter = `${String.fromCharCode(65 + (own % 26))}${round === 0 ? '' : round}`;
    return { kind, mark: letter, color: own++ % COLORS, words: who };
  });
}

/** Looks up the mark of a CPU; of several owners, such as init containers, the last one's with the words of all. */
export function cpuMarks(cpus: TopologyDocument['cpus']): (id: number) => CpuMark {
  const found = new Map<number, CpuMark>();
  for (const [index, mark] of ownerMarks(cpus).entries()) {
    for (const id of cpus[index]?.ids ?? []) {
      const before = found.get(id);
      found.set(id, before === undefined ? mark : { ...mark, words: `${before.words}; ${mark.words}` });
    }
  }
  return (id) => found.get(id) ?? NONE;
}

/**
 * The changes before and after what is shown.
 *
 * @param at undefined: the end is shown
 */
export function changesAround(
  moments: readonly number[],
  at: number | undefined,
): { readonly earlier: number | undefined; readonly later: number | undefined } {
  const last = moments.at(-1);
  const shown = moments.findLast((one) => one <= (at ?? Infinity));
  const later = at === undefined ? undefined : moments.find((one) => one > at);
  const earlier = moments.findLast((one) => one < (at === undefined ? (last ?? 0) : (shown ?? at)));
  return { earlier, later };
}
