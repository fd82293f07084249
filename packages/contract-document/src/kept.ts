import type { ComparedContract } from './compatibility.ts';

/**
 * A contract as the project keeps the one of the version before: without texts for people, one line for each channel, operation,
 * message and schema, so that what a release changes can be seen.
 */
export function keptContract(document: ComparedContract): string {
  const { channels, operations, components } = withoutTexts(document) as ComparedContract;
  const lines = (all: object) =>
    `{\n${Object.entries(all)
      .map(([name, one]) => `${JSON.stringify(name)}:${JSON.stringify(one)}`)
      .join(',\n')}\n}`;
  const parts = [
    `"channels":${lines(channels)}`,
    `"operations":${lines(operations)}`,
    `"components":{"messages":${lines(components.messages)},\n"schemas":${lines(components.schemas)}}`,
  ];
  return `{${parts.join(',\n')}}\n`;
}

/** Fields of those names that are no texts are fields of payloads. */
function withoutTexts(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutTexts);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).filter(
    ([name, one]) => typeof one !== 'string' || !['description', 'summary'].includes(name),
  );
  return Object.fromEntries(entries.map(([name, one]) => [name, withoutTexts(one)]));
}
