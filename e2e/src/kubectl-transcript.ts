// The same kubectl commands at the reference's API server and at a node's own, and what they print.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';

/** What a command prints, without what differs from run to run. */
export interface Printed {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** A command, as the data of the transcript has it. `{node}` in its words is the node's name. */
export interface Command {
  readonly args: readonly string[];
  readonly stdin?: string;
  /** What `kubectl edit` calls. */
  readonly editor?: string;
  /** The command is ended when it has printed this; what it prints after it is left out. */
  readonly until?: string;
  /** Of the reference. */
  readonly printed?: Printed;
  /** Why a node's own API makes it print something else. */
  readonly because?: string;
}

/** Where a command is run. */
export interface Place {
  /** The program. */
  readonly kubectl: string;
  readonly kubeconfig: string;
  readonly node: string;
}

/** The commands of a file, each a line of JSON. */
export async function commandsIn(file: string): Promise<readonly Command[]> {
  const lines = (await readFile(file, 'utf8')).trimEnd().split('\n');
  return lines.map((line) => JSON.parse(line) as Command);
}

/** Longer than any command takes, in milliseconds: one that waits for what does not come ends with the code -1. */
const LONGEST_MS = 45_000;

/** Runs one command to its end. */
export async function run({ args, stdin, editor, until }: Command, place: Place): Promise<Printed> {
  const words = args.map((word) => word.replaceAll('{node}', place.node));
  const child = spawn(place.kubectl, ['--kubeconfig', place.kubeconfig, ...words], {
    stdio: ['pipe', 'pipe', 'pipe'],
    timeout: LONGEST_MS,
    env: { ...process.env, ...(editor !== undefined && { KUBE_EDITOR: editor }) },
  });
  child.stdin.on('error', () => {
    // It has ended without reading.
  });
  if (until === undefined) child.stdin.end(stdin ?? '');
  const out = until === undefined ? text(child.stdout) : textUntil(child.stdout, until);
  if (until !== undefined) void out.then(() => child.kill());
  const [printed, errors, [code]] = await Promise.all([
    out,
    text(child.stderr),
    once(child, 'close') as Promise<[number | null]>,
  ]);
  return {
    code: until === undefined ? (code ?? -1) : 0,
    out: normalised(printed, place),
    err: until === undefined ? normalised(errors, place) : '',
  };
}

async function textUntil(stream: AsyncIterable<Buffer>, until: string): Promise<string> {
  let seen = '';
  for await (const chunk of stream) {
    seen += chunk.toString();
    const at = seen.indexOf(until);
    if (at >= 0) return seen.slice(0, at + until.length);
  }
  return seen;
}

const REPLACED: readonly (readonly [RegExp, string])[] = [
  [/\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g, 'UID'],
  [/\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g, 'TIME'],
  [/\b[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d [+-]\d{4}/g, 'TIME'],
  [/\b[IEW]\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ /g, 'LOG '],
  [/\b(?:\d{1,3}\.){3}\d{1,3}\b/g, 'IP'],
  [/\b(IP|localhost):\d{4,5}\b/g, '$1:PORT'],
  [/\[::1\]:\d+/g, '[::1]:PORT'],
  [/sha256:[0-9a-f]{64}/g, 'sha256:DIGEST'],
  [/containerd:\/\/[0-9a-f]{64}/g, 'containerd://ID'],
  [/eyJ[\w-]+\.[\w-]+\.[\w-]+/g, 'TOKEN'],
  [/(resourceVersion\W{2,6})\d+/g, '$1N'],
  [/\b\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+ [+-]\d{4}/g, 'TIME'],
  [/\b[0-9a-f]{64}\b/g, 'ID'],
  [/\/tmp\/(LIVE|MERGED|kubectl-edit)-\d+/g, '/tmp/$1-N'],
  [/\bv1\.\d+\.\d+[^\s"',)]*/g, 'VERSION'],
  [/(node-debugger-node0)-[a-z0-9]{5}\b/g, '$1-X'],
  [/\bdebugger-[a-z0-9]{5}\b/g, 'debugger-X'],
  [/(?<=^|[\s(])\d+(?:\.\d+)?(?:ms|s|m|h)(?:\d+s)?(?=[\s)]|$)/gm, 'AGE'],
  [/(?<=\bin )\d+(?:\.\d+)?m?s\b/g, 'AGE'],
  [/\(AGE including waiting\)\. Image size: \d+ bytes/g, '(AGE including waiting). Image size: N bytes'],
  [/ ?\(x\d+ over AGE\)/g, ''],
  [/[ \t]+/g, ' '],
  [/ $/gm, ''],
];

function normalised(printed: string, { node, kubeconfig }: Place): string {
  const named = printed.replaceAll(node, 'node0').replaceAll(kubeconfig, 'KUBECONFIG');
  return REPLACED.reduce((before, [pattern, by]) => before.replaceAll(pattern, by), named);
}
