import type { Invocation, PluginOutput } from '@kubus/cni-config';
import { type Field, FrameError, encodeFrame } from './frame.ts';

/**
 * The call that a request's fields describe.
 *
 * @throws FrameError when a field that must be there is missing.
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
