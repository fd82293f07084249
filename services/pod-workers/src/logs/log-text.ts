import { parseLogEntry, splitLines } from '@kubus/container-log';

/**
 * The output at the end of a log in CRI's format, without times and streams. A line that is not in this format is left
 * out, such as a first line that was cut in two.
 */
export function logText(end: string): string {
  const { lines, rest } = splitLines(Buffer.from(end));
  const texts = [...lines, rest].flatMap((line) => {
    const entry = parseLogEntry(line);
    if (entry === undefined) return [];
    // A partial line continues in the next entry.
    return entry.partial ? [entry.text] : [entry.text, Buffer.from('\n')];
  });
  return Buffer.concat(texts).toString();
}
