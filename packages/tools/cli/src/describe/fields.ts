/** Width of the names in a description. */
const WIDTH = 16;

/** A line of a description: `Name:           value`. */
export function field(name: string, value: string | undefined): string {
  return `${`${name}:`.padEnd(WIDTH)}${value ?? '<none>'}`;
}

/** Labels or annotations, one a line; undefined when there are none. */
export function pairs(values: Readonly<Record<string, string>> | undefined): string | undefined {
  return column(Object.entries(values ?? {}).map(([name, value]) => `${name}=${value}`));
}

/** Values below each other; undefined when there are none. */
export function column(values: readonly string[]): string | undefined {
  return values.join('\n'.padEnd(WIDTH + 1)) || undefined;
}
