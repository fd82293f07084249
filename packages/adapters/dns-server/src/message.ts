import { type OwnedRecord, type Zone, answerTo, isAddress, isName } from '@kubus/cluster-dns';
import { type Answer as WireRecord, type Question as WireQuestion, type RecordType, decode, encode } from 'dns-packet';

/** Codes of answers (RFC 1035). */
export const rcodes = { formErr: 1, servFail: 2, nxDomain: 3, notImp: 4 } as const;

/** Seconds for which a name of the node may be kept, or that there is none: pods come and go. As the default of CoreDNS. */
const TTL_S = 5;
const HEADER = 12;
/** What a client without EDNS takes over UDP, and what is sent at most, so that no packet is split (RFC 1035, DNS flag day 2020), in bytes. */
const SMALLEST = 512;
const LARGEST = 1_232;
const IS_ANSWER = 0x80;
const OPCODE = 0x78;
const [AUTHORITATIVE, TRUNCATED, RECURSION_DESIRED, RECURSION_AVAILABLE] = [1 << 10, 1 << 9, 1 << 8, 1 << 7];

/** A question that was asked. */
interface Query {
  readonly id: number;
  readonly question: WireQuestion;
  readonly recursionDesired: boolean;
  /** The size of the largest answer over UDP, in bytes. */
  readonly udpSize: number;
  readonly hasEdns: boolean;
}

/** `code`: of the answer to a message that is no question of this server's. Undefined: it gets none. */
type ReadQuery = { readonly query: Query } | { readonly code: number } | undefined;

/** Reads a message that a client sent. */
export function readQuery(bytes: Buffer): ReadQuery {
  const flags = bytes[2];
  // An answer is never answered: two servers would go on forever.
  if (bytes.length < HEADER || flags === undefined || (flags & IS_ANSWER) !== 0) return undefined;
  if ((flags & OPCODE) !== 0) return { code: rcodes.notImp };
  if (bytes.readUInt16BE(4) !== 1) return { code: rcodes.formErr };
  try {
    const { id = 0, questions = [], additionals = [], flags: all = 0 } = decode(bytes);
    const [question] = questions;
    if (question === undefined) return { code: rcodes.formErr };
    const edns = additionals.find((record) => record.type === 'OPT');
    const asked = edns?.type === 'OPT' ? edns.udpPayloadSize : SMALLEST;
    const udpSize = Math.max(SMALLEST, Math.min(asked, LARGEST));
    const recursionDesired = (all & RECURSION_DESIRED) !== 0;
    return { query: { id, question, recursionDesired, udpSize, hasEdns: edns !== undefined } };
  } catch {
    // The library has errors of its own for each thing that may be wrong.
    return { code: rcodes.formErr };
  }
}

/** A question about this name, in the words of the client. */
export function questionOf({ id, question }: Query, name: string): Buffer {
  return encode({ id, type: 'query', flags: RECURSION_DESIRED, questions: [{ ...question, name }] });
}

/** What a zone says to a query: the bytes of the answer; where it goes on; or undefined: the question is not about this node. */
export function answerOf(
  zone: Zone,
  query: Query,
  overUdp: boolean,
): { readonly bytes: Buffer } | { readonly alias: string; readonly finish: Finish } | undefined {
  const { question } = query;
  const { name, type } = question;
  if ((question.class ?? 'IN') !== 'IN' || !isName(name.toLowerCase())) return undefined;
  const answer = answerTo(zone, { name, type }, query.id);
  if (answer.kind === 'forward') return undefined;
  const { records, additional, missing, alias } = answer;
  const finish: Finish = ({ code, more }) => {
    const answers = [...records.map(wireRecord), ...more];
    const authorities = answers.length === 0 ? [authority(zone)] : [];
    const parts = { answers, authorities, additionals: additional.map(wireRecord) };
    return encoded(query, { ...parts, code }, overUdp ? query.udpSize : undefined);
  };
  const isFollowed = alias !== undefined && (type === 'A' || type === 'AAAA');
  if (isFollowed) return { alias, finish };
  return { bytes: finish({ code: missing ? rcodes.nxDomain : 0, more: [] }) };
}

/** Completes an answer with what another server says of the alias. */
export type Finish = (rest: { readonly code: number; readonly more: readonly WireRecord[] }) => Buffer;

/** The code and the addresses of an answer that another server gave, with the aliases on the way to them. */
export function aliasRecords(bytes: Buffer): { readonly code: number; readonly more: readonly WireRecord[] } {
  try {
    const { answers = [], flags = 0 } = decode(bytes);
    const more = answers.filter((record) => {
      if (!isName(record.name.toLowerCase())) return false;
      if (record.type === 'CNAME') return isName(record.data.toLowerCase());
      return (record.type === 'A' || record.type === 'AAAA') && isAddress(record.data);
    });
    return { code: flags & 15, more };
  } catch {
    return { code: rcodes.servFail, more: [] };
  }
}

/** The answer to a message that is not answered otherwise: its head with the code. */
export function refusal(bytes: Buffer, code: number): Buffer {
  const head = Buffer.alloc(HEADER);
  bytes.copy(head, 0, 0, 4);
  head[2] = ((head[2] ?? 0) & 0x79) | IS_ANSWER;
  head[3] = RECURSION_AVAILABLE | code;
  return head;
}

interface Parts {
  readonly code: number;
  readonly answers: readonly WireRecord[];
  readonly authorities: readonly WireRecord[];
  readonly additionals: readonly WireRecord[];
}

/** Within `size` bytes; then without additional records, and then with as many others as fit and the mark that there are more. */
function encoded(query: Query, { code, answers, authorities, additionals }: Parts, size = Infinity): Buffer {
  const { id, question, recursionDesired, hasEdns } = query;
  const edns: WireRecord[] = hasEdns
    ? [
        {
          type: 'OPT',
          name: '.',
          udpPayloadSize: LARGEST,
          extendedRcode: 0,
          ednsVersion: 0,
          flags: 0,
          options: [],
          flag_do: false,
        },
      ]
    : [];
  const bits = AUTHORITATIVE | RECURSION_AVAILABLE | (recursionDesired ? RECURSION_DESIRED : 0) | code;
  const made = (count: number, extra: readonly WireRecord[]) =>
    encode({
      ...{ id, type: 'response', questions: [question], authorities: [...authorities] },
      flags: bits | (count < answers.length ? TRUNCATED : 0),
      answers: answers.slice(0, count),
      additionals: [...extra, ...edns],
    });
  const whole = made(answers.length, additionals);
  if (whole.length <= size) return whole;
  let bytes = made(answers.length, []);
  for (let count = answers.length; bytes.length > size && count > 0; count -= 1) bytes = made(count - 1, []);
  return bytes;
}

function wireRecord({ name, ...record }: OwnedRecord): WireRecord {
  const common = { name, ttl: TTL_S, class: 'IN' } as const;
  if (record.type !== 'SRV') return { ...common, ...record };
  return { ...common, type: 'SRV', data: { priority: 0, ...record.data } };
}

/** Says for how long it may be kept that there is no answer. */
function authority({ domain }: Zone): WireRecord {
  const data = {
    ...{ mname: `ns.dns.${domain}`, rname: `hostmaster.${domain}`, serial: 1 },
    ...{ refresh: 7_200, retry: 1_800, expire: 86_400, minimum: TTL_S },
  };
  return { name: domain, ttl: TTL_S, type: 'SOA', class: 'IN', data };
}

/** Whether these bytes answer this question: with its id and the same question. */
export function answers(answer: Buffer, question: Buffer): boolean {
  if (answer.length < HEADER || ((answer[2] ?? 0) & IS_ANSWER) === 0) return false;
  if (answer.readUInt16BE(0) !== question.readUInt16BE(0)) return false;
  const [one, other] = [readQuestion(answer), readQuestion(question)];
  return one !== undefined && one === other;
}

/** The question as text; undefined if there is none. Some servers answer what they refuse without it. */
function readQuestion(bytes: Buffer): string | undefined {
  try {
    const [question] = decode(bytes).questions ?? [];
    return question && `${question.name.toLowerCase()} ${question.type satisfies RecordType}`;
  } catch {
    return undefined;
  }
}
