import { KubusError } from '@kubus/ports';

/** Something under the node (folder, namespace, process, cgroup, runtime) could not be made, found or removed. */
export class LauncherError extends KubusError {}
