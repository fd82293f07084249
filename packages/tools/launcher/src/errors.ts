import { KubusError } from '@kubus/ports';

/** Thrown when a part of a node (folder, namespace, process, cgroup, runtime, NATS) cannot be created, found, used or removed. */
export class LauncherError extends KubusError {}
