/** What an instance publishes in addition to the messages of its service: its journal, the faults applied to its messages, and what direct delivery refuses. */
const additional = ['journal', 'faults', 'direct'] as const;

/** The source under which an instance publishes these: with separate sequence numbers, so that those of its service have no gaps. */
export function sourceBeside(instance: string, what: (typeof additional)[number]): string {
  return `${instance}-${what}`;
}

/** The instance to which a message's source belongs. */
export function instanceOfSource(source: string): string {
  const what = additional.find((one) => source.endsWith(`-${one}`));
  return what === undefined ? source : source.slice(0, -what.length - 1);
}
