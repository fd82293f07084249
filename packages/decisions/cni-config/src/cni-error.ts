import { KubusError, toError } from '@kubus/ports';
import * as z from 'zod';
import { CNI_VERSIONS } from './cni-version.ts';

/** Error codes of the protocol (CNI SPEC.md, "Error"); a plugin's own start at 100. */
export const CniCode = {
  incompatibleVersion: 1,
  unsupportedField: 2,
  unknownContainer: 3,
  invalidEnvironment: 4,
  ioFailure: 5,
  decodingFailure: 6,
  invalidNetworkConfig: 7,
  tryAgainLater: 11,
  /** STATUS only: the plugin cannot serve ADD. */
  notAvailable: 50,
  /** STATUS only: the plugin cannot serve ADD, and containers that have an attachment may have limited connectivity. */
  limitedConnectivity: 51,
  /** libcni's code for a failure for which the plugin returned no code. */
  internal: 999,
} as const;

const words: ReadonlyMap<number, string> = new Map([
  [CniCode.incompatibleVersion, 'CniIncompatibleVersion'],
  [CniCode.unsupportedField, 'CniUnsupportedField'],
  [CniCode.unknownContainer, 'CniUnknownContainer'],
  [CniCode.invalidEnvironment, 'CniInvalidEnvironment'],
  [CniCode.ioFailure, 'CniIoFailure'],
  [CniCode.decodingFailure, 'CniDecodingFailure'],
  [CniCode.invalidNetworkConfig, 'CniInvalidNetworkConfig'],
  [CniCode.tryAgainLater, 'CniTryAgainLater'],
  [CniCode.notAvailable, 'CniNotAvailable'],
  [CniCode.limitedConnectivity, 'CniLimitedConnectivity'],
  [CniCode.internal, 'CniInternal'],
]);

/**
 * Thrown when an operation fails in the terms of the CNI protocol. `code` is a word for programs, `cniCode` the number
 * on the wire.
 */
export class CniError extends KubusError {
  readonly cniCode: number;
  /** More about the cause, for people; may be empty. */
  readonly details: string;

  constructor(cniCode: number, message: string, options: { details?: string; cause?: unknown } = {}) {
    super(words.get(cniCode) ?? 'CniPluginError', message, { cause: options.cause, context: { cniCode } });
    this.cniCode = cniCode;
    this.details = options.details ?? '';
  }
}

/** Thrown when the program of a plugin is in none of the plugin folders: it was not run, so there is nothing to undo. */
export class PluginMissing extends CniError {
  constructor(type: string, folders: readonly string[]) {
    super(CniCode.ioFailure, `failed to find plugin "${type}" in path [${folders.join(' ')}]`);
  }
}

/** Any thrown value as a CNI error; one without a code gets the code `fallback`. */
export function toCniError(thrown: unknown, fallback: number = CniCode.internal): CniError {
  if (thrown instanceof CniError) {
    return thrown;
  }
  return new CniError(fallback, toError(thrown).message, { cause: thrown });
}

/** The error as a plugin prints it on its standard output. `cniVersion` is the version that the caller requested. */
export function formatError(error: CniError, cniVersion: string): string {
  return JSON.stringify({
    cniVersion,
    code: error.cniCode,
    msg: error.message,
    ...(error.details !== '' && { details: error.details }),
  });
}

const errorSchema = z.looseObject({ code: z.int().positive(), msg: z.string(), details: z.string().optional() });

/** An error that a plugin printed, or undefined when `stdout` does not contain one. */
export function parseError(stdout: string): CniError | undefined {
  let json: unknown;
  try {
    json = JSON.parse(stdout);
  } catch {
    return undefined;
  }
  const parsed = errorSchema.safeParse(json);
  if (!parsed.success) {
    return undefined;
  }
  const { code, msg, details } = parsed.data;
  return new CniError(code, msg, details === undefined ? {} : { details });
}

/** The refusal of an unknown protocol version. */
export function incompatibleVersion(what: string, version: string): CniError {
  return new CniError(
    CniCode.incompatibleVersion,
    `${what} is of CNI version "${version}"; supported are ${CNI_VERSIONS.join(', ')}`,
  );
}
