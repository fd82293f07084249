import type { ContainerState, ContainerStatus, PodStatus } from '@kubus/contracts';

/** Bytes of a termination message file that are used: the last ones (behaviour:labels-paths-logs). */
export const FILE_BYTES = 4096;
/** The part of a log that replaces an empty file: the last lines, and of those the last bytes. */
export const LOG_LINES = 80;
const LOG_BYTES = 2048;
/** The limit for all messages of a pod together, shared by its containers. */
const POD_BYTES = 12 * 1024;

/** The message of a container that has ended. `file` and `log` are the texts that the caller has read, as far as they exist. */
export function terminationMessage(input: {
  /** `File` or `FallbackToLogsOnError`. */
  policy: string | undefined;
  exitCode: number;
  file: string | undefined;
  /** The container's output without timestamps; read only when {@link needsLog} says so. */
  log: string | undefined;
}): string {
  const { file = '', log = '' } = input;
  return needsLog(input) ? lastBytes(lastLines(log), LOG_BYTES) : lastBytes(file, FILE_BYTES);
}

/** True when the end of the log replaces the file: the container failed and left no message. */
export function needsLog(input: { policy: string | undefined; exitCode: number; file: string | undefined }): boolean {
  return input.policy === 'FallbackToLogsOnError' && input.exitCode !== 0 && (input.file ?? '') === '';
}

function lastLines(log: string): string {
  const ended = log.endsWith('\n');
  const lines = (ended ? log.slice(0, -1) : log).split('\n').slice(-LOG_LINES);
  return lines.join('\n') + (ended ? '\n' : '');
}

/** The longest suffix of `text` with at most `limit` bytes; no character is split. */
function lastBytes(text: string, limit: number): string {
  const characters = Array.from(text).reverse();
  return characters.slice(0, fitting(characters, limit)).reverse().join('');
}

/** The longest prefix of `text` with at most `limit` bytes. */
function firstBytes(text: string, limit: number): string {
  const characters = Array.from(text);
  return characters.slice(0, fitting(characters, limit)).join('');
}

/** How many of `characters` have at most `limit` bytes together. */
function fitting(characters: readonly string[], limit: number): number {
  const encoder = new TextEncoder();
  let bytes = 0;
  const over = characters.findIndex((character) => (bytes += encoder.encode(character).length) > limit);
  return over === -1 ? characters.length : over;
}

/** Shortens the messages of ended containers so that a pod's status stays small (behaviour:pod-status, status patch). */
export function limitMessages<S extends PodStatus>(status: S, containers: number): S {
  const limit = Math.floor(POD_BYTES / Math.max(1, containers));
  const cutState = (state: ContainerState | undefined): ContainerState | undefined => {
    const message = state?.terminated?.message;
    if (state?.terminated === undefined || message === undefined) return state;
    return { ...state, terminated: { ...state.terminated, message: firstBytes(message, limit) } };
  };
  const cut = (statuses: ContainerStatus[] | undefined) =>
    statuses?.map((one) => ({ ...one, state: cutState(one.state), lastState: cutState(one.lastState) }));
  return {
    ...status,
    ...(status.initContainerStatuses !== undefined && { initContainerStatuses: cut(status.initContainerStatuses) }),
    ...(status.containerStatuses !== undefined && { containerStatuses: cut(status.containerStatuses) }),
    ...(status.ephemeralContainerStatuses !== undefined && {
      ephemeralContainerStatuses: cut(status.ephemeralContainerStatuses),
    }),
  };
}
