export const NOT_NEGATIVE = 'must be greater than or equal to 0';

/** A path in an object, in the API server's notation: `spec.containers[0].resources.limits[cpu]`. */
export class FieldPath {
  static readonly root = new FieldPath([], '');
  /** Property names and list positions, starting at the object. */
  readonly segments: readonly (string | number)[];
  readonly #text: string;

  private constructor(segments: readonly (string | number)[], text: string) {
    this.segments = segments;
    this.#text = text;
  }

  /** A field of this object; the last of `names` is the innermost. */
  child(...names: string[]): FieldPath {
    const names_ = names.join('.');
    return new FieldPath([...this.segments, ...names], this.#text === '' ? names_ : `${this.#text}.${names_}`);
  }

  /** An element of this list. */
  index(position: number): FieldPath {
    return new FieldPath([...this.segments, position], `${this.#text}[${position}]`);
  }

  /** An entry of this map. */
  key(name: string): FieldPath {
    return new FieldPath([...this.segments, name], `${this.#text}[${name}]`);
  }

  toString(): string {
    return this.#text;
  }
}

/** An error in one field. `message` does not repeat the path. */
export interface FieldError {
  readonly path: FieldPath;
  readonly message: string;
}

/**
 * Collects the errors with the API server's texts, so that users see the same messages as from `kubectl apply`.
 * Source: k8s.io/apimachinery/pkg/util/validation/field.
 */
export class FieldErrors {
  readonly list: FieldError[] = [];

  required(path: FieldPath, detail = ''): void {
    this.#add(path, 'Required value', detail);
  }

  invalid(path: FieldPath, value: unknown, detail: string): void {
    this.#add(path, `Invalid value: ${show(value)}`, detail);
  }

  /** Adds one `invalid` error for each message returned by a check of names. */
  each(path: FieldPath, value: unknown, messages: readonly string[]): void {
    for (const message of messages) this.invalid(path, value, message);
  }

  duplicate(path: FieldPath, value: unknown): void {
    this.#add(path, `Duplicate value: ${show(value)}`, '');
  }

  unsupported(path: FieldPath, value: unknown, supported: readonly string[]): void {
    this.#add(path, `Unsupported value: ${show(value)}`, `supported values: ${supported.map(show).join(', ')}`);
  }

  forbidden(path: FieldPath, detail: string): void {
    this.#add(path, 'Forbidden', detail);
  }

  notFound(path: FieldPath, value: unknown, detail = ''): void {
    this.#add(path, `Not found: ${show(value)}`, detail);
  }

  tooLong(path: FieldPath, bytes: number): void {
    this.#add(path, 'Too long', `may not be more than ${bytes} bytes`);
  }

  tooMany(path: FieldPath, count: number, most: number): void {
    this.#add(path, `Too many: ${count}`, `must have at most ${most} items`);
  }

  /** The common case of an enumeration: an empty value is `required`, any other value not in the list is `unsupported`. */
  oneOf(path: FieldPath, value: string | undefined, supported: readonly string[]): void {
    if (value === undefined || value === '') this.required(path);
    else if (!supported.includes(value)) this.unsupported(path, value, supported);
  }

  #add(path: FieldPath, what: string, detail: string): void {
    this.list.push({ path, message: detail === '' ? what : `${what}: ${detail}` });
  }
}

function show(value: unknown): string {
  return JSON.stringify(value);
}
