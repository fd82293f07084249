import * as z from 'zod';
import { CniCode, CniError, incompatibleVersion } from './cni-error.ts';
import { CNI_VERSIONS, type CniVersion, NEWEST_CNI_VERSION, isCniVersion } from './cni-version.ts';
import { type JsonObject, firstIssue, jsonObjectSchema } from './json.ts';
import type { CniCommand } from './plugin-call.ts';
import { type CniResult, readResult } from './result.ts';

/** A call of the runtime as received by the shim: the protocol's environment and standard input, unchecked. */
export interface Invocation {
  /** CNI_COMMAND */
  readonly command: string;
  /** CNI_CONTAINERID */
  readonly containerId: string;
  /** CNI_NETNS */
  readonly netns: string;
  /** CNI_IFNAME */
  readonly ifname: string;
  /** CNI_ARGS */
  readonly args: string;
  /** CNI_PATH: where the runtime looks for plugins. */
  readonly path: string;
  readonly stdin: string;
  /** The name under which the shim was started. */
  readonly name: string;
  /** W3C trace context of the caller, where it has one. */
  readonly traceparent?: string | undefined;
}

/** A checked call that concerns one attachment. */
export interface AttachmentCall {
  readonly command: 'ADD' | 'DEL' | 'CHECK';
  /** The version in which the runtime expects the answer. */
  readonly cniVersion: CniVersion;
  readonly containerId: string;
  readonly ifname: string;
  /** Empty only for DEL: the namespace may have been removed. */
  readonly netns: string;
  readonly args: string;
  readonly capabilityArgs: JsonObject;
  /** The result of ADD that the runtime has kept; absent where there is none, or none that can be read. */
  readonly prevResult?: CniResult | undefined;
}

/** A checked call. */
export type RuntimeCall =
  | AttachmentCall
  | { readonly command: 'VERSION'; readonly cniVersion: CniVersion }
  | { readonly command: 'STATUS'; readonly cniVersion: CniVersion }
  | { readonly command: 'GC'; readonly cniVersion: CniVersion; readonly validContainerIds: ReadonlySet<string> };

const commands: readonly string[] = ['ADD', 'DEL', 'CHECK', 'VERSION', 'STATUS', 'GC'] satisfies CniCommand[];

const stdinSchema = z.object({
  cniVersion: z.string().optional(),
  runtimeConfig: jsonObjectSchema.optional(),
  prevResult: z.unknown().optional(),
  'cni.dev/valid-attachments': z.array(z.object({ containerID: z.string(), ifname: z.string() })).optional(),
});

/**
 * Checks a call of the runtime.
 *
 * @throws CniError: code 1 for an unknown version, 4 for a variable that is missing or not valid, 6 for a standard input
 * that is not a network configuration, 7 for one with an invalid field.
 */
export function parseInvocation(invocation: Invocation): RuntimeCall {
  const { command } = invocation;
  if (!isCommand(command)) {
    throw new CniError(
      CniCode.invalidEnvironment,
      `CNI_COMMAND is "${command}"; it must be one of ${commands.join(', ')}`,
    );
  }
  if (command === 'VERSION') {
    return { command, cniVersion: answerVersion(invocation.stdin) }; // The answer lists the supported versions.
  }
  const stdin = parseStdin(invocation.stdin);
  const cniVersion = askedVersion(stdin.cniVersion);
  switch (command) {
    case 'STATUS':
      return { command, cniVersion };
    case 'GC': {
      const valid = stdin['cni.dev/valid-attachments'];
      if (valid === undefined) {
        throw new CniError(CniCode.invalidNetworkConfig, 'cni.dev/valid-attachments: is missing');
      }
      return { command, cniVersion, validContainerIds: new Set(valid.map((attachment) => attachment.containerID)) };
    }
    default: {
      const { netns, args } = invocation;
      const key = checkKey(invocation);
      if (netns === '' && command !== 'DEL') {
        throw new CniError(CniCode.invalidEnvironment, `CNI_NETNS is empty; ${command} needs a network namespace`);
      }
      const prevResult = keptResult(stdin.prevResult, cniVersion);
      return { command, cniVersion, ...key, netns, args, capabilityArgs: stdin.runtimeConfig ?? {}, prevResult };
    }
  }
}

/** The version in which to answer, even if the call is invalid. */
export function answerVersion(stdin: string): CniVersion {
  try {
    return askedVersion(parseStdin(stdin).cniVersion);
  } catch {
    return NEWEST_CNI_VERSION;
  }
}

/** The answer to VERSION. */
export function versionAnswer(cniVersion: CniVersion): string {
  return JSON.stringify({ cniVersion, supportedVersions: CNI_VERSIONS });
}

/** The pod of an attachment, from the arguments that runtimes pass (K8S_POD_*). */
export function podOf(args: string): { namespace: string; name: string; uid: string } | undefined {
  const pairs = new Map(
    args.split(';').map((pair) => {
      const at = pair.indexOf('=');
      return at < 0 ? [pair, ''] : [pair.slice(0, at), pair.slice(at + 1)];
    }),
  );
  const namespace = pairs.get('K8S_POD_NAMESPACE');
  const name = pairs.get('K8S_POD_NAME');
  return namespace && name ? { namespace, name, uid: pairs.get('K8S_POD_UID') ?? '' } : undefined;
}

function isCommand(text: string): text is CniCommand {
  return commands.includes(text);
}

function parseStdin(text: string): z.infer<typeof stdinSchema> {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (error) {
    throw new CniError(CniCode.decodingFailure, 'the network configuration on standard input is not JSON', {
      cause: error,
    });
  }
  const parsed = stdinSchema.safeParse(json);
  if (!parsed.success) {
    const { field, problem } = firstIssue(parsed.error);
    throw new CniError(
      CniCode.invalidNetworkConfig,
      `the network configuration on standard input: ${field === '' ? problem : `${field}: ${problem}`}`,
      { cause: parsed.error },
    );
  }
  return parsed.data;
}

function askedVersion(asked: string | undefined): CniVersion {
  const version = asked === undefined || asked === '' ? '0.1.0' : asked;
  if (!isCniVersion(version)) {
    throw incompatibleVersion('the network configuration on standard input', version);
  }
  return version;
}

/** The result that the runtime has kept. A damaged one counts as none: a DEL must continue without it. */
function keptResult(prevResult: unknown, cniVersion: CniVersion): CniResult | undefined {
  try {
    return prevResult === undefined ? undefined : readResult(prevResult, cniVersion);
  } catch {
    return undefined;
  }
}

/** The kernel's limit for the length of an interface name. */
const MAX_IFNAME = 15;

function checkKey({ containerId, ifname }: Invocation): { containerId: string; ifname: string } {
  if (!/^[a-zA-Z0-9][a-zA-Z0-9_.-]*$/.test(containerId)) {
    throw new CniError(CniCode.invalidEnvironment, `CNI_CONTAINERID is "${containerId}"; it must be a container id`);
  }
  if (ifname.length > MAX_IFNAME || !/^(?!\.{1,2}$)[^/:\s]+$/.test(ifname)) {
    throw new CniError(CniCode.invalidEnvironment, `CNI_IFNAME is "${ifname}"; it must be the name of an interface`);
  }
  return { containerId, ifname };
}
