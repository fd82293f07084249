/**
 * The same items in another, random order; never the original one, unless there are fewer than two.
 *
 * @param random returns numbers in [0, 1)
 */
export function disordered<T>(items: readonly T[], random: () => number): T[] {
  const left = items.map((item, at) => ({ item, at }));
  const drawn: { item: T; at: number }[] = [];
  while (left.length > 0) drawn.push(...left.splice(Math.floor(random() * left.length), 1));
  // If the original order was drawn, it is rotated by one.
  if (drawn.every(({ at }, index) => at === index)) drawn.push(...drawn.splice(0, 1));
  return drawn.map(({ item }) => item);
}
