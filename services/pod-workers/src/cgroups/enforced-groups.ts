import type { NodeEvent, ResourceList } from '@kubus/contracts';
import { type Cancel, type Clock, type Logger, toError } from '@kubus/ports';
import type { NodeConfig } from '@kubus/service-kit';

/** The cgroups whose limits this enforces, see `PodCgroupTree`. */
interface LimitedGroups {
  /** The cgroup of all pods. */
  readonly path: string;
  ensureAll(): Promise<void>;
  limitReserved(name: string, reserved: ResourceList, compressible: boolean): Promise<void>;
}

export interface EnforcedGroupsOptions {
  readonly reserved: NodeConfig['reserved'];
  readonly cgroups: LimitedGroups;
  /** Records an event of the node, for its operators. */
  readonly report: (event: Pick<NodeEvent, 'type' | 'reason' | 'message'>) => void;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** One cgroup that is limited, and the words of the reference for it. */
interface Group {
  readonly limit: () => Promise<void>;
  readonly done: string;
  readonly failed: string;
}

/** Milliseconds (behaviour:qos-and-cgroups). */
const RETRY_MS = 60_000;

/**
 * Limits all pods together, and the cgroups of what is reserved, once at the start of the node (behaviour:qos-and-cgroups). What fails is
 * tried again each minute: pods may use more at the moment than they are to have.
 */
export class EnforcedGroups {
  readonly #options: EnforcedGroupsOptions;
  readonly #timers = new Set<Cancel>();
  #stopped = false;

  constructor(options: EnforcedGroupsOptions) {
    this.#options = options;
    void this.#limitAll();
  }

  stop(): void {
    this.#stopped = true;
    for (const cancel of this.#timers) cancel();
  }

  /** One after the other: by the cgroup of all pods those beside it get their controllers. */
  async #limitAll(): Promise<void> {
    for (const group of this.#groups()) await this.#limit(group);
  }

  #groups(): Group[] {
    const { cgroups, reserved } = this.#options;
    const { system, kube, enforce, systemCgroup, kubeCgroup } = reserved;
    const all: Group = {
      limit: () => cgroups.ensureAll(),
      done: 'Updated Node Allocatable limit across pods',
      failed: `Failed to update Node Allocatable Limits "${cgroups.path}"`,
    };
    const others = (
      [
        ['system-reserved', 'System Reserved', systemCgroup, system],
        ['kube-reserved', 'Kube Reserved', kubeCgroup, kube],
      ] as const
    ).flatMap(([value, title, cgroup, resources]) =>
      [false, true].flatMap((compressible): Group[] => {
        if (!enforce.includes(compressible ? `${value}-compressible` : value)) return [];
        return [
          {
            limit: () => cgroups.limitReserved(cgroup, resources, compressible),
            done: `Updated limits on ${title.toLowerCase()} cgroup ${cgroup}`,
            failed: `Failed to enforce ${title}${compressible ? ' Compressible' : ''} Cgroup Limits on "${cgroup}"`,
          },
        ];
      }),
    );
    return [all, ...others];
  }

  async #limit(group: Group): Promise<void> {
    const { report, logger, clock } = this.#options;
    try {
      await group.limit();
      report({ type: 'Normal', reason: 'NodeAllocatableEnforced', message: group.done });
    } catch (error) {
      const message = `${group.failed}: ${toError(error).message}`;
      logger.error({ err: toError(error) }, group.failed);
      report({ type: 'Warning', reason: 'FailedNodeAllocatableEnforcement', message });
      if (this.#stopped) return;
      const cancel = clock.after(RETRY_MS, () => {
        this.#timers.delete(cancel);
        void this.#limit(group);
      });
      this.#timers.add(cancel);
    }
  }
}
