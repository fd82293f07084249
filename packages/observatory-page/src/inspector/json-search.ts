/** A place in a document: the keys that lead to it, joined by this. */
const separator = '\u0000';
export const top = '';

export function below(path: string, key: string): string {
  return `${path}${separator}${key}`;
}

/** Whether a key or a value itself, not what is in it, holds a text. */
export function holds(value: unknown, text: string): boolean {
  return text !== '' && plain(value).toLowerCase().includes(text.toLowerCase());
}

/** The places at which a document holds a text, as key or as value, and all places above them, which are to be open. */
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

/** Keys and values of an object or list; nothing of anything else. */
export function entriesOf(value: unknown): [string, unknown][] {
  return typeof value === 'object' && value !== null ? Object.entries(value) : [];
}

export function plain(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
