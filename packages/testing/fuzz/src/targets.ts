import { decodeEnvelope, parseCause } from '@kubus/bus';
import { FrameReader } from '@kubus/cni/frame';
import { readProgramEnd, readRequest } from '@kubus/cni/shim-messages';
import { addressesOf, chooseConfig, formatResult, parseInvocation, parseResult } from '@kubus/cni-config';
import { LineJoiner, parseLogEntry, splitLines } from '@kubus/container-log';
import { serviceContracts, typeOf } from '@kubus/contracts';
import { queryOf } from '@kubus/node-api/routes';
import { parseLogOptions, parsePorts, parseStreamOptions, sinceNanos, isRefused } from '@kubus/node-requests';
import { readManifest } from '@kubus/pod-source';
import { criCodecs } from '@kubus/proto/cri-grpc';
import { askNames } from './dns-target.ts';
import type { Target } from './fuzz.ts';
import { readRecording } from './recording-target.ts';
import { answerObjects, askObjects } from './object-targets.ts';
import { receiveSpdy } from './spdy-target.ts';

/** What is said about a result does not hold. */
function holds(is: boolean, statement: string): void {
  if (!is) throw new Error(`not so: ${statement}`);
}

const origin = { node: 'node0', source: 'file', path: '/manifests/a.yaml', seenAt: '2026-01-01T00:00:00Z' } as const;

function manifest(bytes: Buffer): void {
  const { pods, errors, warnings } = readManifest({ text: bytes.toString(), ...origin });
  for (const { metadata } of pods) {
    holds(metadata.uid !== '' && metadata.name.endsWith('-node0'), 'a pod has a UID and a name of this node');
  }
  JSON.stringify({ pods, errors, warnings });
}

const codecs = Object.values(criCodecs);

/** The first byte chooses the method. */
function criAnswer(bytes: Buffer): void {
  const codec = codecs[(bytes[0] ?? 0) % codecs.length];
  if (codec === undefined) return;
  let answer: unknown;
  try {
    answer = codec.decodeResponse(bytes.subarray(1));
  } catch {
    // The decoder is generated and has errors of its own; the gRPC client turns them into the call's.
    return;
  }
  JSON.stringify(answer);
}

/** What a plugin prints, a network configuration, and the standard input of the shim, which contains a result. */
function cni(bytes: Buffer): void {
  const text = bytes.toString();
  const { broken } = chooseConfig([{ name: '10-a.conflist', content: text }]);
  JSON.stringify(broken);
  const call = { command: 'ADD', containerId: 'c', netns: '/n', ifname: 'eth0', args: 'A=b', path: '/bin', name: 'n' };
  refusing(() => parseInvocation({ ...call, stdin: text }));
  const result = parseResult(text, '1.0.0');
  addressesOf(result, 'eth0');
  const written = JSON.stringify(formatResult(result, '1.0.0'));
  holds(
    JSON.stringify(formatResult(parseResult(written, '1.0.0'), '1.0.0')) === written,
    'a result that was written is read as it is',
  );
}

/** Runs it; a refusal of this step is none of what follows. */
function refusing(step: () => unknown): void {
  try {
    step();
  } catch (error) {
    if (!(error instanceof Error && 'code' in error)) throw error;
  }
}

/** The bytes come in two parts. */
function shim(bytes: Buffer): void {
  const reader = new FrameReader();
  const half = bytes.length >> 1;
  const fields = reader.push(bytes.subarray(0, half)) ?? reader.push(bytes.subarray(half));
  if (fields === undefined) return;
  refusing(() => readProgramEnd(fields));
  parseInvocation(readRequest(fields));
}

const declared = new Map(
  Object.values(serviceContracts)
    .flatMap(({ owns, publishes, serves }) => [...owns, ...publishes, ...serves])
    .map((one) => [typeOf(one), one.kind === 'cmd' ? one.request : one.payload]),
);

/** Lines of headers, an empty line, and the payload, which is read by the type in the headers. */
function message(bytes: Buffer): void {
  const text = bytes.toString();
  const end = text.indexOf('\n\n');
  const headers: Record<string, string> = {};
  for (const line of text.slice(0, end === -1 ? undefined : end).split('\n')) {
    const at = line.indexOf(':');
    if (at > 0) headers[line.slice(0, at)] = line.slice(at + 1).trim();
  }
  const { type, causes } = decodeEnvelope(headers, 0);
  for (const cause of causes) parseCause(cause);
  let payload: unknown;
  try {
    payload = JSON.parse(end === -1 ? '' : text.slice(end + 2));
  } catch {
    // The bus refuses it.
    return;
  }
  const read = declared.get(type)?.safeParse(payload);
  if (read?.success === true) JSON.stringify(read.data);
  else JSON.stringify(read?.error.issues);
}

function query(bytes: Buffer): void {
  const parameters = queryOf({ url: `/containerLogs/a/b/c?${bytes.toString()}` } as never);
  const options = parseLogOptions(parameters);
  if (!isRefused(options)) sinceNanos(options, 1_800_000_000_000);
  parseStreamOptions(parameters);
  parsePorts(parameters);
}

/** A log as the runtime writes it, in which a container's bytes are. */
function log(bytes: Buffer): void {
  const { lines, rest } = splitLines(bytes);
  const joiner = new LineJoiner();
  let given = rest.length;
  let printed = 0;
  for (const line of lines) {
    given += line.length + 1;
    const entry = parseLogEntry(line);
    const joined = entry === undefined ? undefined : joiner.add(entry);
    for (const part of joined?.parts ?? []) printed += part.length;
  }
  for (const { parts } of joiner.end()) for (const part of parts) printed += part.length;
  holds(given === bytes.length, 'each byte is in a line or in the rest');
  holds(printed <= bytes.length, 'no byte is printed twice');
}

/** Every parser of bytes that come from outside, by the name of its folder of seeds. */
export const targets: Readonly<Record<string, Target>> = {
  manifest: { about: 'manifests: YAML and JSON of files and URLs', read: manifest },
  cri: { about: 'answers of the container runtime', read: criAnswer },
  cni: { about: 'results of CNI plugins, network configurations, the shim’s standard input', read: cni },
  shim: { about: 'frames of the shim and of programs that it runs', read: shim },
  spdy: { about: 'SPDY frames of a streaming server', read: receiveSpdy },
  message: { about: 'headers and payloads of messages', read: message },
  query: { about: 'query strings of the node’s API', read: query },
  log: { about: 'logs of containers', read: log },
  'object-request': { about: 'requests at the object socket', read: askObjects },
  'object-answer': { about: 'answers of the object socket', read: answerObjects },
  dns: { about: 'questions of pods to the node’s DNS, answers of the machine’s resolvers', read: askNames },
  recording: { about: 'imported recordings', read: readRecording },
};
