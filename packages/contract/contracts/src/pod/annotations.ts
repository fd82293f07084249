/** Annotations by which a node keeps track of the sources of its pods. */

/** The UID of a static pod: it changes with its manifest. */
export const CONFIG_HASH = 'kubernetes.io/config.hash';
/** `file`, `http` or `api`. */
export const CONFIG_SOURCE = 'kubernetes.io/config.source';
/** When the node first saw the pod, as RFC 3339. */
export const CONFIG_SEEN = 'kubernetes.io/config.seen';
/** On a mirror pod: the hash of its static pod. */
export const CONFIG_MIRROR = 'kubernetes.io/config.mirror';

/** On a sandbox in the runtime: the message that led to its creation, with its trace; the runtime passes it to the pod's network. */
export const SANDBOX_CAUSE = 'kubus.dev/caused-by';
