/** What is known of the network of the node's pods, as in the runtime's NetworkReady condition. */
export interface NetworkWord {
  readonly ready: boolean;
  readonly reason?: string | undefined;
  readonly message?: string | undefined;
}

/** Why a pod is not started before its network is ready: the event NetworkNotReady. Undefined: nobody has spoken yet. */
export function networkNotReady(word: NetworkWord | undefined): string {
  if (word === undefined) return 'network is not ready: network state unknown';
  const { ready, reason = '', message = '' } = word;
  return (
    'network is not ready: container runtime network not ready: ' +
    `NetworkReady=${ready} reason:${reason} message:${message}`
  );
}
