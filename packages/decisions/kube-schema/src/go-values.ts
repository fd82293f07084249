// Values as Go reads and prints them.
import { parseQuantity } from '@kubus/contracts';
import { entriesOf, isList, isObject, type Json } from '@kubus/kube-objects';

const byKey = ([one]: readonly [string, Json], [other]: readonly [string, Json]): number => (one < other ? -1 : 1);

/** As the verb %v of fmt prints it. */
export function goText(value: Json): string {
  if (value === null) return '<nil>';
  if (isList(value)) return `[${value.map(goText).join(' ')}]`;
  if (!isObject(value)) return String(value);
  const entries = [...entriesOf(value)].sort(byKey).map(([key, field]) => `${key}:${goText(field)}`);
  return `map[${entries.join(' ')}]`;
}

/** As the verb %#v of fmt prints it. */
export function goSyntax(value: Json): string {
  if (value === null) return 'interface {}(nil)';
  if (isList(value)) return `[]interface {}{${value.map(goSyntax).join(', ')}}`;
  if (!isObject(value)) return JSON.stringify(value);
  const entries = [...entriesOf(value)].sort(byKey).map(([key, field]) => `${JSON.stringify(key)}:${goSyntax(field)}`);
  return `map[string]interface {}{${entries.join(', ')}}`;
}

const QUANTITY = /^[+-]?\d+(?:\.\d*)?[eEinumkKMGTP]*[-+]?\d*$/;

/** Why the text is no quantity (k8s.io/apimachinery, resource.ParseQuantity); undefined: it is one. */
export function quantityProblem(text: string): string | undefined {
  if (parseQuantity(text) !== undefined) return undefined;
  if (QUANTITY.test(text)) return "unable to parse quantity's suffix";
  return "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
}

/** Why the text is no base64 (encoding/base64, StdEncoding); undefined: it is. */
export function base64Problem(text: string): string | undefined {
  const bytes = new TextEncoder().encode(text);
  const at = corruptAt(bytes);
  return at === undefined ? undefined : `illegal base64 data at input byte ${at}`;
}

const isNewline = (byte: number | undefined): boolean => byte === 0x0a || byte === 0x0d;
const isDigit = (byte: number): boolean => /^[A-Za-z0-9+/]$/.test(String.fromCharCode(byte));
const PAD = 0x3d;

function corruptAt(bytes: Uint8Array): number | undefined {
  let digits = 0;
  for (const [at, byte] of bytes.entries()) {
    if (isNewline(byte)) continue;
    if (byte === PAD) return digits % 4 < 2 ? at : corruptPadding(bytes, at, digits % 4);
    if (!isDigit(byte)) return at;
    digits += 1;
  }
  return digits % 4 === 0 ? undefined : bytes.length - (digits % 4);
}

/** @param at where the first padding is, after so many digits of the last four. */
function corruptPadding(bytes: Uint8Array, at: number, digits: number): number | undefined {
  const next = (from: number): number => {
    let index = from;
    while (isNewline(bytes[index])) index += 1;
    return index;
  };
  let end = at;
  if (digits === 2) {
    end = next(at + 1);
    if (end === bytes.length) return bytes.length;
    if (bytes[end] !== PAD) return end;
  }
  const after = next(end + 1);
  return after < bytes.length ? after : undefined;
}

/** The parts of a time in their order: what Go's layout has for each, and what is read. */
const TIME_PARTS: readonly (readonly [layout: string, pattern: RegExp])[] = [
  ['2006', /^\d{4}/],
  ['-', /^-/],
  ['01', /^\d{2}/],
  ['-', /^-/],
  ['02', /^\d{2}/],
  ['T', /^T/],
  ['15', /^\d{2}/],
  [':', /^:/],
  ['04', /^\d{2}/],
  [':', /^:/],
  ['05', /^\d{2}/],
];
const ZONE = 'Z07:00';
const SECONDS = /^[.,]\d+/;
const MICROS = /^[.,]\d{6}/;

/** Why the text is no time (time.Parse); undefined: it is one. @param micro with the six digits of a MicroTime. */
export function timeProblem(text: string, micro: boolean): string | undefined {
  const layout = `2006-01-02T15:04:05${micro ? '.000000' : ''}${ZONE}`;
  const shown = JSON.stringify(text);
  const cannot = (rest: string, part: string) =>
    `parsing time ${shown} as "${layout}": cannot parse ${JSON.stringify(rest)} as "${part}"`;
  let rest = text;
  const read: number[] = [];
  for (const [part, pattern] of TIME_PARTS) {
    const [found] = pattern.exec(rest) ?? [];
    if (found === undefined) return cannot(rest, part);
    if (/\d/.test(found)) read.push(Number(found));
    const range = rangeProblem(read);
    if (range !== undefined) return `parsing time ${shown}: ${range} out of range`;
    rest = rest.slice(found.length);
  }
  const [fraction] = (micro ? MICROS : SECONDS).exec(rest) ?? [];
  if (micro && fraction === undefined) return cannot(rest, '.000000');
  rest = rest.slice((fraction ?? '').length);
  const [zone, hours = 0, minutes = 0] = /^(?:Z|[+-](\d{2}):(\d{2}))/.exec(rest) ?? [];
  if (zone === undefined) return cannot(rest, ZONE);
  if (Number(hours) > 24) return `parsing time ${shown}: time zone offset hour out of range`;
  if (Number(minutes) > 60) return `parsing time ${shown}: time zone offset minute out of range`;
  rest = rest.slice(zone.length);
  if (rest !== '') return `parsing time ${shown}: extra text: ${JSON.stringify(rest)}`;
  const [year = 0, month = 0, day = 0] = read;
  if (day > new Date(Date.UTC(year, month, 0)).getUTCDate()) return `parsing time ${shown}: day out of range`;
  return undefined;
}

/** Which part of those read so far is none. */
function rangeProblem([, month = 1, day = 1, hour = 0, minute = 0, second = 0]: readonly number[]): string | undefined {
  if (month < 1 || month > 12) return 'month';
  if (day < 1 || day > 31) return 'day';
  if (hour > 23) return 'hour';
  if (minute > 59) return 'minute';
  return second > 59 ? 'second' : undefined;
}
