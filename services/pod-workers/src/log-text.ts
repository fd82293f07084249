const LINE = /^\d{4}-\d{2}-\d{2}T\S+ (?:stdout|stderr) (\S+) (.*)$/;

/**
 * The output in the end of a log in CRI's format (`<time> <stream> <P|F> <text>`), without times and streams. A line that
 * is not of this format is left out, such as a first one that was cut in two.
 */
export function logText(end: string): string {
  return end
    .split('\n')
    .map((line) => {
      const [, tag, output] = LINE.exec(line) ?? [];
      if (tag === undefined || output === undefined) return '';
      // A part of a line that the runtime has cut goes on in the next entry.
      return tag.split(':').includes('P') ? output : `${output}\n`;
    })
    .join('');
}
