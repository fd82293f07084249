/** The records of the reference kubelet for a scenario. */
export interface GoldenRecord {
  readonly name: string;
  /** One of its runs. */
  readonly record: unknown;
  /** Field paths that differ between the reference's own runs: not compared. */
  readonly varying: readonly string[];
}

/** A field in which Kubus differs from the reference on purpose. */
export interface RecordException {
  /** The exact path. */
  readonly path: string;
  /** The reference's value at that path; any other value is compared. */
  readonly golden: unknown;
  readonly reason: string;
}

/** Stands for a field that is missing. */
const ABSENT = '(absent)';

/**
 * Where a record differs from the reference's: a line for each field path, with both values. Events are a set; everything
 * else is compared value by value.
 */
export function recordDifferences(
  { record: golden, varying }: GoldenRecord,
  record: unknown,
  exceptions: readonly RecordException[],
): string[] {
  const wanted = fieldsOf(withoutExceptions(golden, exceptions));
  const found = fieldsOf(record);
  const paths = [...new Set([...wanted.keys(), ...found.keys()])].filter((path) => !varying.includes(path));
  return paths.sort().flatMap((path) => {
    const [want, have] = [wanted, found].map((fields) => show(fields.has(path) ? fields.get(path) : ABSENT));
    return want === have ? [] : [`${path}\n    reference ${want ?? ''}\n    kubus     ${have ?? ''}`];
  });
}

/** Every value of a record by its path, such as `.status.conditions[0].type`. A list also has its length. */
function fieldsOf(record: unknown): Map<string, unknown> {
  const fields = new Map<string, unknown>();
  collect(record, '', fields);
  return fields;
}

function collect(value: unknown, path: string, fields: Map<string, unknown>): void {
  if (Array.isArray(value) && path === '.events') {
    for (const event of value) fields.set(`${path} ${JSON.stringify(event)}`, 'seen');
  } else if (Array.isArray(value)) {
    fields.set(`${path}.length`, value.length);
    for (const [index, item] of value.entries()) collect(item, `${path}[${index}]`, fields);
  } else if (typeof value === 'object' && value !== null) {
    const members = Object.entries(value);
    if (members.length === 0) fields.set(path, {});
    for (const [name, member] of members) collect(member, `${path}.${name}`, fields);
  } else {
    fields.set(path, value);
  }
}

/** The record without the excepted fields and their contents. */
function withoutExceptions(record: unknown, exceptions: readonly RecordException[]): unknown {
  const excepted = new Map(exceptions.map(({ path, golden }) => [path, golden]));
  const strip = (value: unknown, path: string): unknown => {
    if (Array.isArray(value)) return value.map((item: unknown, index) => strip(item, `${path}[${index}]`));
    if (typeof value !== 'object' || value === null) return value;
    const members = Object.entries(value).map(([name, member]) => [name, strip(member, `${path}.${name}`)] as const);
    const kept = members.filter(([name, member]) => {
      const at = `${path}.${name}`;
      return !excepted.has(at) || show(excepted.get(at)) !== show(member);
    });
    return Object.fromEntries(kept);
  };
  return strip(record, '');
}

function show(value: unknown): string {
  return JSON.stringify(value);
}
