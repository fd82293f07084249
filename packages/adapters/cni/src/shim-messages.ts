import { constants } from 'node:os';
import type { Invocation, PluginOutput } from '@kubus/cni-config';
import { type Field, FrameError, encodeFrame } from './frame.ts';
import type { Program, ProgramEnd } from './program.ts';

/** What a shim announces when it can run programs for the bridge. */
const RUNS_PROGRAMS = 'run';

/**
 * The call that a request's fields describe.
 *
 * @throws FrameError when a required field is missing.
 */
export function readRequest(fields: readonly Field[]): Invocation {
  const only = (tag: string) => fields.find((field) => field.tag === tag)?.value.toString();
  const name = only('n');
  const stdin = only('i');
  if (name === undefined || stdin === undefined) {
    throw new FrameError(`the request has no field "${name === undefined ? 'n' : 'i'}"`);
  }
  const env = new Map<string, string>();
  for (const { tag, value } of fields) {
    const text = value.toString();
    const at = text.indexOf('=');
    if (tag === 'e' && at > 0) {
      env.set(text.slice(0, at), text.slice(at + 1));
    }
  }
  return {
    command: env.get('CNI_COMMAND') ?? '',
    containerId: env.get('CNI_CONTAINERID') ?? '',
    netns: env.get('CNI_NETNS') ?? '',
    ifname: env.get('CNI_IFNAME') ?? '',
    args: env.get('CNI_ARGS') ?? '',
    path: env.get('CNI_PATH') ?? '',
    stdin,
    name,
    traceparent: env.get('TRACEPARENT'),
  };
}

/** The frame that answers a call. */
export function encodeAnswer({ exitCode, stdout, stderr }: PluginOutput): Buffer {
  return encodeFrame([
    { tag: 'x', value: Buffer.from([exitCode]) },
    { tag: 'o', value: stdout },
    { tag: 'r', value: stderr },
  ]);
}

/** Whether the shim that sent this request can run programs. */
export function runsPrograms(fields: readonly Field[]): boolean {
  return fields.some(({ tag, value }) => tag === 'c' && value.toString() === RUNS_PROGRAMS);
}

/** The frame that asks a shim to run a program. */
export function encodeProgram({ argv, env, stdin, timeoutMs, stdoutLimit, stderrKept }: Program): Buffer {
  return encodeFrame([
    ...argv.map((value) => ({ tag: 'a', value })),
    ...Object.entries(env).map(([name, value]) => ({ tag: 'e', value: `${name}=${value}` })),
    { tag: 'i', value: stdin },
    { tag: 't', value: uint32(timeoutMs) },
    { tag: 'l', value: uint32(stdoutLimit) },
    { tag: 'k', value: uint32(stderrKept) },
  ]);
}

/**
 * How a program ended, from the fields of the frame that reports it.
 *
 * @throws FrameError when they are incomplete.
 */
export function readProgramEnd(fields: readonly Field[]): ProgramEnd {
  const valueOf = (tag: string) => fields.find((field) => field.tag === tag)?.value;
  const printed = { stdout: valueOf('o')?.toString() ?? '', stderr: valueOf('r')?.toString() ?? '' };
  const [exitCode] = valueOf('x') ?? [];
  if (exitCode !== undefined) {
    return { ...printed, how: 'exited', exitCode };
  }
  const [signal] = valueOf('s') ?? [];
  if (signal !== undefined) {
    return { ...printed, how: 'signalled', signal: signalName(signal) };
  }
  const reason = valueOf('f')?.toString();
  if (reason !== undefined) {
    return { ...printed, how: 'notStarted', reason };
  }
  if (valueOf('t') !== undefined || valueOf('m') !== undefined) {
    return { ...printed, how: valueOf('t') === undefined ? 'printedTooMuch' : 'timedOut' };
  }
  throw new FrameError('the frame does not contain the result of the program');
}

function uint32(number: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(Math.ceil(number));
  return bytes;
}

function signalName(number: number): string {
  return Object.entries(constants.signals).find(([, known]) => known === number)?.[0] ?? `signal ${number}`;
}
