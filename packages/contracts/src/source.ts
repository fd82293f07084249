/** What an instance tells besides its service's own words: its journal, and what was done to its messages on purpose. */
const besides = ['journal', 'faults'] as const;

/** As whom an instance tells such a thing: under running numbers of its own, which do not shift those of its service. */
export function sourceBeside(instance: string, what: (typeof besides)[number]): string {
  return `${instance}-${what}`;
}

/** The instance that a message's source belongs to. */
export function instanceOfSource(source: string): string {
  const what = besides.find((one) => source.endsWith(`-${one}`));
  return what === undefined ? source : source.slice(0, -what.length - 1);
}
