/**
 * The same items in another order, drawn at random; never in the one that they had, unless there are fewer than two.
 *
 * @param random gives numbers in [0, 1).
 */
export function disordered<T>(items: readonly T[], random: () => number): T[] {
  const left = items.map((item, at) => ({ item, at }));
  const drawn: { item: T; at: number }[] = [];
  while (left.length > 0) drawn.push(...left.splice(Math.floor(random() * left.length), 1));
  // What was drawn in the old order is turned by one.
  if (drawn.every(({ at }, index) => at === index)) drawn.push(...drawn.splice(0, 1));
  return drawn.map(({ item }) => item);
}
