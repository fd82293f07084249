import { CriError } from './errors.ts';

/**
 * The meaning of a failed call where gRPC's code is not enough: containerd answers most of these with 'Unknown'.
 * Every text below was observed with containerd 1.6, 1.7 and 2.1 (situations.test.ts keeps the full ones); another runtime
 * may word it differently, and then only the code is available.
 */
export type CriSituation =
  /** A sandbox or container of this name and attempt exists, or is being created or removed (reservedFor). */
  | 'name-reserved'
  /** StartContainer, RemoveContainer: another call is starting the container. */
  | 'starting'
  /** StartContainer, RemoveContainer: another call is removing the container. */
  | 'removing'
  /** The call is not allowed in the container's state: already running, not started, or exited. */
  | 'wrong-container-state'
  /** The sandbox's own process has ended, so its containers cannot be created or started. */
  | 'sandbox-not-running'
  /** RunPodSandbox: the network could not be set up. containerd 1.6 may keep the sandbox, not ready. */
  | 'network-setup-failed'
  /** StopPodSandbox: the network could not be removed; the call has to be repeated. */
  | 'network-teardown-failed'
  /** RunPodSandbox: the runtime has no handler of that name. */
  | 'no-such-handler'
  /** CreateContainer: the image is not on the node. */
  | 'image-missing'
  /** ExecSync: the command exceeded its time limit and was killed. */
  | 'command-timed-out'
  /** ExecSync: the command could not be started, for example because the program does not exist. */
  | 'command-not-started';

const texts: readonly (readonly [CriSituation, RegExp])[] = [
  ['name-reserved', /name "[^"]*" is reserved for "[^"]*"/],
  ['starting', /container is (already in starting state|in starting state, can't be removed)/],
  ['removing', /container is (already in removing state|in removing state, can't be started)/],
  ['sandbox-not-running', /sandbox container ("[^"]*" )?is not running|sandbox container task: no running task found/],
  // After the one above: "sandbox container is not running" contains this text too.
  ['wrong-container-state', /container is (in CONTAINER_[A-Z]+ state|not running)$/],
  ['network-setup-failed', /failed to setup network for sandbox/],
  ['network-teardown-failed', /failed to destroy network for sandbox/],
  ['no-such-handler', /no runtime for "[^"]*" is configured/],
  ['image-missing', /failed to resolve image "[^"]*": not found/],
  ['command-timed-out', /failed to exec in container: timeout \S+ exceeded/],
  ['command-not-started', /failed to exec in container: failed to start exec/],
];

/** The situation behind an error; undefined when it is none of these, or not an answer of the runtime. */
export function situationOf(error: unknown): CriSituation | undefined {
  if (!(error instanceof CriError)) {
    return undefined;
  }
  return texts.find(([, text]) => text.test(error.details))?.[0];
}

/** With 'name-reserved': the ID of the sandbox or container that has the name. */
export function reservedFor(error: unknown): string | undefined {
  return error instanceof CriError ? / is reserved for "([^"]*)"/.exec(error.details)?.[1] : undefined;
}
