/** Why a pull failed, for the event and the waiting reason. */
export interface PullFailure {
  readonly reason: 'ErrImagePull' | 'RegistryUnavailable' | 'SignatureValidationFailed';
  readonly message: string;
}

/** Reasons with which a runtime's error text may start (behaviour:images, errors). */
const runtimeReasons = [
  { reason: 'RegistryUnavailable', because: 'the registry is unavailable' },
  { reason: 'SignatureValidationFailed', because: 'the signature validation failed' },
] as const;

/** How the network namespace of a private node reaches registries: through connections of the machine, or not at all. */
export type WayOut = 'nat' | 'none';

/** Texts with which the runtime (a Go program) reports that a registry or its name server was not reached. */
const NOT_REACHED = /\b(dial (tcp|udp)|lookup) /;
/** What the kernel reports where there is no route. */
const NO_ROUTE = /network is unreachable/;
/** Registries that every node reaches in its own network namespace. */
const ON_LOOPBACK = /^(localhost|127(\.\d+){3}|\[::1\])(:\d+)?\//;

/**
 * The error text of a pull on a node whose own network namespace has no way to the registry: it says so, and what to do, before the
 * runtime's text, which only shows the consequence, such as that a name cannot be looked up.
 *
 * @param error the runtime's text
 * @param wayOut undefined: the node uses the machine's own network
 */
export function explainUnreachable(image: string, error: string, wayOut: WayOut | undefined): string {
  if (wayOut === undefined || !NOT_REACHED.test(error)) return error;
  if (ON_LOOPBACK.test(image)) {
    const [registry] = image.split('/');
    return `nothing answers at ${registry} of the node's network; for a registry of the machine: "kubus up --restart --registry ${registry}": ${error}`;
  }
  if (wayOut === 'none') {
    return `the node has no way out of its network (--network none): "kubus image load" brings the image, "kubus up --restart --network nat" gives it one: ${error}`;
  }
  if (NO_ROUTE.test(error)) {
    return `the node's way out does not work, or the machine has none: "kubus status" shows its state: ${error}`;
  }
  return error;
}

/** @param error the runtime's error text */
export function pullFailure(image: string, error: string): PullFailure {
  const known = runtimeReasons.find(({ reason }) => error.startsWith(reason));
  if (known === undefined) return { reason: 'ErrImagePull', message: error };
  const { reason, because } = known;
  return { reason, message: `image pull failed for ${image} because ${because}${error.slice(reason.length)}` };
}
