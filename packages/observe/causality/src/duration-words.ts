/** A duration within a sentence: `412 ms`, `4.2 s`, `2 min 5 s`. */
export function durationWords(ms: number): string {
  if (ms < 9.95) return `${ms.toFixed(1)} ms`;
  if (ms < 999.5) return `${Math.round(ms)} ms`;
  if (ms < 59_950) return `${(ms / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
}

/** How a duration compares with others; undefined where they are too few to say. */
export function rankWords(ms: number, others: readonly number[]): string | undefined {
  if (others.length < FEW) return undefined;
  const [quicker, slower] = [others.filter((other) => other < ms).length, others.filter((other) => other > ms).length];
  const [how, count] = quicker >= slower ? ['slower', quicker] : ['faster', slower];
  return `${how} than ${Math.floor((100 * count) / others.length)} % of the last ${others.length} starts`;
}

/** A share of fewer starts says nothing. */
const FEW = 5;
