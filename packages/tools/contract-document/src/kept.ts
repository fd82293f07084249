import type { ComparedContract } from './compatibility.ts';

/**
 * A contract as the project keeps that of the previous version: without descriptions, one line for each channel, operation,
 * message and schema, so that the changes of a release are visible.
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

/** A value under one of these names that is not a text is a payload field, not a description. */
function withoutTexts(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutTexts);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).filter(
    ([name, one]) => typeof one !== 'string' || !['description', 'summary'].includes(name),
  );
  return Object.fromEntries(entries.map(([name, one]) => [name, withoutTexts(one)]));
}
