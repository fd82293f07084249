/** Separator of the keys in the path to a place in a document. */
const separator = '\u0000';
export const top = '';

export function below(path: string, key: string): string {
  return `${path}${separator}${key}`;
}

/** Whether a key or a value itself, not its content, contains a text. */
export function holds(value: unknown, text: string): boolean {
  return text !== '' && plain(value).toLowerCase().includes(text.toLowerCase());
}

/** The places at which a document contains a text, as key or value, and all their parents, which are to be unfolded. */
export function placesOf(value: unknown, text: string): { open: ReadonlySet<string>; found: number } {
  const open = new Set<string>();
  let found = 0;
  const look = (node: unknown, path: string): boolean => {
    let within = false;
    for (const [key, child] of entriesOf(node)) {
      const here = Number(holds(key, text)) + Number(entriesOf(child).length === 0 && holds(child, text));
      found += here > 0 ? 1 : 0;
      if (look(child, below(path, key)) || here > 0) within = true;
    }
    if (within) open.add(path);
    return within;
  };
  if (text !== '') look(value, top);
  return { open, found };
}

/** Keys and values of an object or list; empty for other values. */
export function entriesOf(value: unknown): [string, unknown][] {
  return typeof value === 'object' && value !== null ? Object.entries(value) : [];
}

export function plain(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
