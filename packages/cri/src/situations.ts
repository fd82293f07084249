import { CriError } from './errors.ts';

/**
 * What a failed call means where gRPC's code alone does not tell: containerd answers most of these with 'Unknown'.
 * Every text below was seen from containerd 1.6, 1.7 and 2.1 (situations.test.ts keeps the full ones); another runtime
 * may say it differently, and then only the code is left.
 */
export type CriSituation =
  /** A sandbox or container of this name and attempt exists, or is being made or removed (reservedFor). */
  | 'name-reserved'
  /** StartContainer, RemoveContainer: another call is starting the container. */
  | 'starting'
  /** StartContainer, RemoveContainer: another call is removing the container. */
  | 'removing'
  /** The container is in a state that the call is not for: running already, not started, or exited. */
  | 'wrong-container-state'
  /** The sandbox's own process has ended, so its containers cannot be created or started. */
  | 'sandbox-not-running'
  /** RunPodSandbox: the network could not be set up. containerd 1.6 may keep the sandbox, not ready. */
  | 'network-setup-failed'
  /** StopPodSandbox: the network could not be taken down; to be repeated. */
  | 'network-teardown-failed'
  /** RunPodSandbox: the runtime has no handler of that name. */
  | 'no-such-handler'
  /** CreateContainer: the image is not on the node. */
  | 'image-missing'
  /** ExecSync: the command did not end in its time and was killed. */
  | 'command-timed-out'
  /** ExecSync: the command could not be started, such as a program that does not exist. */
  | 'command-not-started';

const texts: readonly (readonly [CriSituation, RegExp])[] = [
  ['name-reserved', /name "[^"]*" is reserved for "[^"]*"/],
  ['starting', /container is (already in starting state|in starting state, can't be removed)/],
  ['removing', /container is (already in removing state|in removing state, can't be started)/],
  ['sandbox-not-running', /sandbox container ("[^"]*" )?is not running|sandbox container task: no running task found/],
  // After the one above: "sandbox container is not running" holds this text too.
  ['wrong-container-state', /container is (in CONTAINER_[A-Z]+ state|not running)$/],
  ['network-setup-failed', /failed to setup network for sandbox/],
  ['network-teardown-failed', /failed to destroy network for sandbox/],
  ['no-such-handler', /no runtime for "[^"]*" is configured/],
  ['image-missing', /failed to resolve image "[^"]*": not found/],
  ['command-timed-out', /failed to exec in container: timeout \S+ exceeded/],
  ['command-not-started', /failed to exec in container: failed to start exec/],
];

/** The situation that an error tells of; undefined when it is none of these, or no answer of the runtime at all. */
export function situationOf(error: unknown): CriSituation | undefined {
  if (!(error instanceof CriError)) {
    return undefined;
  }
  return texts.find(([, text]) => text.test(error.details))?.[0];
}

/** With 'name-reserved': the id of the sandbox or container that has the name. */
export function reservedFor(error: unknown): string | undefined {
  return error instanceof CriError ? / is reserved for "([^"]*)"/.exec(error.details)?.[1] : undefined;
}
