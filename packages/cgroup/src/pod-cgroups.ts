import { KubusError } from '@kubus/ports';
import { posix } from 'node:path';
import { cgroupTree, removeFolders } from './hierarchies.ts';

/** Folder of each class below `kubepods` (kubelet behaviour 1.20); Guaranteed pods have none of their own. */
const CLASS_FOLDERS: Readonly<Record<string, string>> = {
  Guaranteed: '',
  Burstable: 'burstable',
  BestEffort: 'besteffort',
};

export class CgroupBusy extends KubusError {}

/** The pods' cgroups with the cgroupfs driver: `<root>/kubepods/<class>/pod<uid>`. */
export class PodCgroupTree {
  readonly #root: string;

  /** @param root the cgroup below which the node's pods live; `/` for the machine's own. */
  constructor(options: { root: string }) {
    this.#root = options.root;
  }

  /** The pod's cgroup as the runtime takes it. */
  parent(uid: string, qos: string): string {
    return posix.join(this.#root, 'kubepods', CLASS_FOLDERS[qos] ?? '', `pod${uid}`);
  }

  /**
   * Removes the pod's cgroup in every hierarchy, whatever its class was. Harmless when there is none.
   *
   * Throws {@link CgroupBusy} when a process is still in it.
   */
  async remove(uid: string): Promise<void> {
    for (const qos of Object.keys(CLASS_FOLDERS)) {
      const busy = await removeFolders(await cgroupTree(this.parent(uid, qos)));
      if (busy === undefined) continue;
      throw new CgroupBusy('cgroup-busy', `cgroup ${busy} can not be removed: something still runs in it`, {
        context: { cgroup: busy, podUid: uid },
      });
    }
  }
}
