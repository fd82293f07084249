import { describe, expect, it } from '@jest/globals';
import { type CriCode, CriError } from './errors.ts';
import { type CriSituation, reservedFor, situationOf } from './situations.ts';

/** Answers of containerd; IDs shortened. */
const seen: readonly (readonly [
  versions: string,
  method: string,
  CriCode,
  details: string,
  CriSituation | undefined,
])[] = [
  [
    '1.6, 1.7',
    'RunPodSandbox',
    'Unknown',
    'failed to reserve sandbox name "a_default_uid-a_0": name "a_default_uid-a_0" is reserved for "f1c8981f"',
    'name-reserved',
  ],
  [
    '2.1',
    'RunPodSandbox',
    'FailedPrecondition',
    'failed to reserve sandbox name "a_default_uid-a_0": name "a_default_uid-a_0" is reserved for "f1c8981f"',
    'name-reserved',
  ],
  [
    '1.6, 1.7',
    'CreateContainer',
    'Unknown',
    'failed to reserve container name "main_a_default_uid-a_0": name "main_a_default_uid-a_0" is reserved for "a28b0647"',
    'name-reserved',
  ],
  [
    '2.1',
    'CreateContainer',
    'FailedPrecondition',
    'failed to reserve container name "main_a_default_uid-a_0"; check if another CreateContainer request is in progress: name "main_a_default_uid-a_0" is reserved for "a28b0647"',
    'name-reserved',
  ],
  [
    'all',
    'StartContainer',
    'Unknown',
    'failed to set starting state for container "a28b0647": container is already in starting state',
    'starting',
  ],
  [
    'all',
    'RemoveContainer',
    'Unknown',
    `failed to set removing state for container "9c5177a6": container is in starting state, can't be removed`,
    'starting',
  ],
  [
    'all',
    'RemoveContainer',
    'Unknown',
    'failed to set removing state for container "299eba14": container is already in removing state',
    'removing',
  ],
  [
    'all',
    'StartContainer',
    'Unknown',
    `failed to set starting state for container "a28b0647": container is in removing state, can't be started`,
    'removing',
  ],
  [
    'all',
    'StartContainer',
    'Unknown',
    'failed to set starting state for container "a28b0647": container is in CONTAINER_RUNNING state',
    'wrong-container-state',
  ],
  [
    'all',
    'StartContainer',
    'Unknown',
    'failed to set starting state for container "b006229a": container is in CONTAINER_EXITED state',
    'wrong-container-state',
  ],
  [
    'all',
    'ExecSync',
    'Unknown',
    'failed to exec in container: container is in CONTAINER_CREATED state',
    'wrong-container-state',
  ],
  ['all', 'Attach', 'Unknown', 'container is in CONTAINER_EXITED state', 'wrong-container-state'],
  ['all', 'ReopenContainerLog', 'Unknown', 'container is not running', 'wrong-container-state'],
  ['all', 'StartContainer', 'Unknown', 'sandbox container "c6701fcf" is not running', 'sandbox-not-running'],
  ['all', 'PortForward', 'Unknown', 'sandbox container is not running', 'sandbox-not-running'],
  [
    '1.6, 1.7',
    'CreateContainer',
    'NotFound',
    'failed to get sandbox container task: no running task found: task c6701fcf not found: not found',
    'sandbox-not-running',
  ],
  [
    'all',
    'RunPodSandbox',
    'Unknown',
    'failed to setup network for sandbox "9793db6b": plugin type="ptp" failed (add): invalid range set 0: Network 10.234.0.0/31 too small to allocate from',
    'network-setup-failed',
  ],
  [
    'all',
    'RunPodSandbox',
    'Unknown',
    'failed to setup network for sandbox "23a30563": cni plugin not initialized',
    'network-setup-failed',
  ],
  [
    'all',
    'StopPodSandbox',
    'Unknown',
    'failed to destroy network for sandbox "bf6d457a": cni plugin not initialized',
    'network-teardown-failed',
  ],
  [
    '1.6, 1.7',
    'RunPodSandbox',
    'Unknown',
    'failed to get sandbox runtime: no runtime for "nope" is configured',
    'no-such-handler',
  ],
  [
    '2.1',
    'RunPodSandbox',
    'Unknown',
    'unable to get OCI runtime for sandbox "c6701fcf": no runtime for "nope" is configured',
    'no-such-handler',
  ],
  [
    '1.6, 1.7',
    'CreateContainer',
    'NotFound',
    'failed to resolve image "kubus.test/none:1": not found',
    'image-missing',
  ],
  [
    '2.1',
    'CreateContainer',
    'NotFound',
    'failed to check if this is a checkpoint image: failed to resolve image "kubus.test/none:1": not found',
    'image-missing',
  ],
  [
    'all',
    'ExecSync',
    'DeadlineExceeded',
    'failed to exec in container: timeout 1s exceeded: context deadline exceeded',
    'command-timed-out',
  ],
  [
    '1.6, 1.7',
    'ExecSync',
    'Unknown',
    'failed to exec in container: failed to start exec "6f1d": OCI runtime exec failed: exec failed: unable to start container process: exec: "nothing": executable file not found in $PATH: unknown',
    'command-not-started',
  ],
  [
    '2.1',
    'ExecSync',
    'Unknown',
    'failed to exec in container: failed to start exec "6f1d": OCI runtime exec failed: exec failed: args must not be empty',
    'command-not-started',
  ],
  [
    'all',
    'ContainerStatus',
    'NotFound',
    'an error occurred when try to find container "a28b0647": not found',
    undefined,
  ],
  [
    'all',
    'StartContainer',
    'Unknown',
    'failed to create containerd task: failed to create shim task: OCI runtime create failed: runc create failed: unable to start container process: exec: "/nothing": stat /nothing: no such file or directory: unknown',
    undefined,
  ],
];

describe('situationOf', () => {
  it.each(seen)('containerd %s, %s: %s: %s', (_versions, method, code, details, situation) => {
    expect(situationOf(new CriError(code, details, { method }))).toBe(situation);
  });

  it('is undefined for other errors', () => {
    expect(situationOf(new Error('name "a" is reserved for "b"'))).toBeUndefined();
    expect(situationOf(undefined)).toBeUndefined();
  });
});

it('reservedFor returns the ID that has reserved the name', () => {
  const details = 'failed to reserve sandbox name "a_b_c_0": name "a_b_c_0" is reserved for "f1c8981f"';
  expect(reservedFor(new CriError('Unknown', details, { method: 'RunPodSandbox' }))).toBe('f1c8981f');
  expect(reservedFor(new CriError('NotFound', 'not found', { method: 'StartContainer' }))).toBeUndefined();
});
