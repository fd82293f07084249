/** Annotations by which a node keeps track of where its pods come from. */

/** The UID of a static pod: it changes with its manifest. */
export const CONFIG_HASH = 'kubernetes.io/config.hash';
/** `file`, `http` or `api`. */
export const CONFIG_SOURCE = 'kubernetes.io/config.source';
/** RFC 3339: when the node saw the pod first. */
export const CONFIG_SEEN = 'kubernetes.io/config.seen';
/** On the copy of a static pod that the API server has: the static pod's hash. */
export const CONFIG_MIRROR = 'kubernetes.io/config.mirror';

/** On a sandbox in the runtime: the message that had it made, with its trace; the runtime hands it to the pod's network. */
export const SANDBOX_CAUSE = 'kubus.dev/caused-by';
