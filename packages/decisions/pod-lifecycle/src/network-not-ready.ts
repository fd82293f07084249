/** The state of the pod network, as in the runtime's NetworkReady condition. */
export interface NetworkState {
  readonly ready: boolean;
  readonly reason?: string | undefined;
  readonly message?: string | undefined;
}

/** The message of the event NetworkNotReady: why a pod is not started yet. Undefined: no state has been published yet. */
export function networkNotReady(state: NetworkState | undefined): string {
  if (state === undefined) return 'network is not ready: network state unknown';
  const { ready, reason = '', message = '' } = state;
  return (
    'network is not ready: container runtime network not ready: ' +
    `NetworkReady=${ready} reason:${reason} message:${message}`
  );
}
