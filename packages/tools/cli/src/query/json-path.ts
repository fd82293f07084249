import { UserError } from '../user-error.ts';

/** One step of a path. `names` and `indexes` with several entries are unions. */
export type Step =
  | { readonly kind: 'fields'; readonly names: readonly string[] }
  | { readonly kind: 'indexes'; readonly indexes: readonly number[] }
  | { readonly kind: 'slice'; readonly from: number | undefined; readonly to: number | undefined; readonly by: number }
  | { readonly kind: 'all' }
  | { readonly kind: 'below' }
  | { readonly kind: 'filter'; readonly filter: Filter };

export type Operator = '==' | '!=' | '<' | '<=' | '>' | '>=';

/** `operator` undefined: whether the left side exists. */
export interface Filter {
  readonly left: Operand;
  readonly operator?: Operator;
  readonly right?: Operand;
}

/** A path from the current value (`@`) or from the whole document (`$`), or a value as it is written. */
export type Operand = { readonly path: Path } | { readonly value: string | number | boolean };

export interface Path {
  readonly isFromRoot: boolean;
  readonly steps: readonly Step[];
}

/** What a template consists of. */
export type Part =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'path'; readonly path: Path }
  | { readonly kind: 'range'; readonly path: Path; readonly parts: readonly Part[] };

/**
 * Parses a template of kubectl's jsonpath (https://kubernetes.io/docs/reference/kubectl/jsonpath/): text, `{.path}`, `{"text"}`,
 * `{range .path}...{end}`; in paths fields, `['field']`, `[index]`, `[from:to:step]`, unions, `*`, `..` and `[?(@.a=="b")]`.
 *
 * @throws UserError that names what is wrong, or what kubectl does not have either.
 */
export function parseTemplate(template: string): Part[] {
  if (!template.includes('{')) throw invalid(template, 'it has no {expression}, such as {.metadata.name}');
  const open: { readonly path: Path; readonly parts: Part[] }[] = [];
  const all: Part[] = [];
  const add = (part: Part) => (open.at(-1)?.parts ?? all).push(part);
  let rest = template;
  while (rest !== '') {
    const begin = rest.indexOf('{');
    if (begin !== 0) {
      add({ kind: 'text', text: begin < 0 ? rest : rest.slice(0, begin) });
      rest = begin < 0 ? '' : rest.slice(begin);
      continue;
    }
    const length = expressionLength(rest);
    if (length === undefined) throw invalid(template, `${rest} has no closing }`);
    const text = rest.slice(1, length - 1).trim();
    rest = rest.slice(length);
    if (text === 'end') {
      const range = open.pop();
      if (range === undefined) throw invalid(template, '{end} without {range}');
      add({ kind: 'range', ...range });
      continue;
    }
    const [, ranged] = /^range\s+(.+)$/s.exec(text) ?? [];
    if (ranged !== undefined) open.push({ path: parsePath(ranged), parts: [] });
    else for (const part of expression(text)) add(part);
  }
  if (open.length > 0) throw invalid(template, '{range} without {end}');
  return all;
}

/** Length of the expression in braces at the start of the text; braces in quotes do not count. */
function expressionLength(text: string): number | undefined {
  const [found] = /^\{(?:"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|[^"'}])*\}/.exec(text) ?? [];
  return found?.length;
}

/** The parts of one expression: quoted texts and paths, one after the other. */
function expression(text: string): Part[] {
  const parts: Part[] = [];
  let rest = text;
  while (rest !== '') {
    const [quoted] = /^(?:"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')/.exec(rest) ?? [];
    if (quoted === undefined) {
      const { path, end } = new PathReader(rest).read();
      parts.push({ kind: 'path', path });
      rest = rest.slice(end).trimStart();
    } else {
      parts.push({ kind: 'text', text: unquote(quoted) });
      rest = rest.slice(quoted.length).trimStart();
    }
  }
  return parts;
}

/** Parses a path; as in kubectl's custom columns, the leading point and the braces may be left out. */
export function parsePath(text: string): Path {
  const [, inner = text] = /^\{(.*)\}$/s.exec(text) ?? [];
  const { path, end } = new PathReader(/^[.$@[]/.test(inner) ? inner : `.${inner}`).read();
  if (end < inner.length + (/^[.$@[]/.test(inner) ? 0 : 1)) throw invalid(text, 'one path is expected');
  return path;
}

const escapes: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r' };

function unquote(quoted: string): string {
  return quoted.slice(1, -1).replaceAll(/\\(.)/gs, (_, char: string) => escapes[char] ?? char);
}

/** A field's name, with `\` before a character that would end it. */
const NAME = /^(?:\\.|[^\s.,[\]$@{}()'"=<>!&|\\])+/s;

/** Reads the path at the start of a text. */
class PathReader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  read(): { path: Path; end: number } {
    const isFromRoot = !this.#take('@');
    if (isFromRoot) this.#take('$');
    const steps: Step[] = [];
    for (let step = this.#step(); step !== undefined; step = this.#step()) steps.push(...step);
    // The whole document, as "{}", "{.}", "{@}" or "{$}".
    if (this.#at === 0 && this.#text !== '') throw invalid(this.#text, unsupported(this.#text));
    return { path: { isFromRoot, steps }, end: this.#at };
  }

  #step(): Step[] | undefined {
    if (this.#take('..')) {
      if (this.#take('*')) return [{ kind: 'below' }];
      const name = this.#match(NAME);
      return name === undefined ? [{ kind: 'below' }] : [{ kind: 'below' }, fields([plain(name)])];
    }
    if (this.#take('.')) {
      if (this.#take('*')) return [{ kind: 'all' }];
      const name = this.#match(NAME);
      if (name === undefined) return [];
      if (this.#text[this.#at] === '(') throw invalid(this.#text, `functions such as ${name}() are not supported`);
      return [fields([plain(name)])];
    }
    if (this.#take('[?(')) return [{ kind: 'filter', filter: this.#filter() }];
    if (this.#take('[')) return [this.#bracket()];
    return undefined;
  }

  #bracket(): Step {
    const inner = this.#match(/^(?:'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|[^\]'"])*/s) ?? '';
    if (!this.#take(']')) throw invalid(this.#text, '[ without ]');
    const text = inner.trim();
    if (text === '*' || text === ':') return { kind: 'all' };
    const quoted = [...text.matchAll(/\s*('(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*")\s*(?:,|$)/gs)];
    if (quoted.length > 0 && quoted.map(([whole]) => whole).join('') === text) {
      return fields(quoted.map(([, one = '']) => unquote(one)));
    }
    if (/^-?\d+(\s*,\s*-?\d+)*$/.test(text)) return { kind: 'indexes', indexes: text.split(',').map(Number) };
    const [isSlice, from, to, by] = /^(-?\d+)?:(-?\d+)?(?::(\d+))?$/.exec(text) ?? [];
    if (isSlice === undefined) throw invalid(this.#text, unsupported(text));
    const number = (given: string | undefined) => (given === undefined ? undefined : Number(given));
    if (number(by) === 0) throw invalid(this.#text, 'the step of a slice must be 1 or more');
    return { kind: 'slice', from: number(from), to: number(to), by: number(by) ?? 1 };
  }

  #filter(): Filter {
    const inner = this.#match(/^(?:'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|[^)'"])*/s) ?? '';
    if (!this.#take(')]')) throw invalid(this.#text, '[?( without )]');
    const bare = inner.replaceAll(/'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"/gs, '');
    for (const [word, what] of UNSUPPORTED) if (bare.includes(word)) throw invalid(this.#text, `${what} not supported`);
    const [, left = inner, operator, right] = /^(.*?)(==|!=|<=|>=|<|>)(.*)$/s.exec(inner) ?? [];
    if (operator === undefined || right === undefined) return { left: operand(left) };
    return { left: operand(left), operator: operator as Operator, right: operand(right) };
  }

  #take(text: string): boolean {
    if (!this.#text.startsWith(text, this.#at)) return false;
    this.#at += text.length;
    return true;
  }

  #match(pattern: RegExp): string | undefined {
    const [found] = pattern.exec(this.#text.slice(this.#at)) ?? [];
    this.#at += found?.length ?? 0;
    return found;
  }
}

/** What other JSONPath dialects have and kubectl's has not. */
const UNSUPPORTED: readonly (readonly [string, string])[] = [
  ['=~', 'regular expressions (=~) are'],
  ['&&', '&& in a filter is'],
  ['||', '|| in a filter is'],
  ['(', 'functions and parentheses in a filter are'],
];

function unsupported(text: string): string {
  if (text.startsWith('?')) return 'a filter is written [?(@.field=="value")]';
  return `"${text}" is no path such as .metadata.name, .items[*], [0], ['field'] or [?(@.field=="value")]`;
}

function operand(text: string): Operand {
  const trimmed = text.trim();
  if (/^["']/.test(trimmed)) return { value: unquote(trimmed) };
  if (trimmed === 'true' || trimmed === 'false') return { value: trimmed === 'true' };
  if (/^[-+]?\d+(\.\d+)?$/.test(trimmed)) return { value: Number(trimmed) };
  if (!/^[@$.]/.test(trimmed)) throw invalid(text, 'a side of a filter is a path, a "text", a number, true or false');
  return { path: parsePath(trimmed) };
}

function fields(names: readonly string[]): Step {
  return { kind: 'fields', names };
}

function plain(name: string): string {
  return name.replaceAll(/\\(.)/gs, '$1');
}

function invalid(text: string, why: string): UserError {
  return new UserError(`invalid jsonpath "${text}": ${why}`);
}
