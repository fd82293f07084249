import type { PressureCondition, ResourceList } from '@kubus/contracts';
import type { ExclusivePolicies } from '@kubus/exclusive';

export interface Taint {
  readonly key: string;
  readonly value?: string | undefined;
  /** `NoSchedule`, `PreferNoSchedule` or `NoExecute`. */
  readonly effect: string;
}

/** The properties of the node on which the admission of pods depends. */
export interface AdmissionNode {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly taints: readonly Taint[];
  /**
   * The node's allocatable resources: `cpu`, `memory`, `pods`, `ephemeral-storage`, `hugepages-…` and extended
   * resources.
   */
  readonly allocatable: ResourceList;
  /** Names of sysctls that pods may set, or prefixes of names, ending in `*`. */
  readonly sysctls: readonly string[];
  /** The kernel enforces AppArmor profiles. */
  readonly appArmor: boolean;
  /** The runtime can omit the groups that an image gives its user. */
  readonly strictSupplementalGroups: boolean;
  /** Containers of burstable pods may use swap (memorySwap.swapBehavior `LimitedSwap`). Default: false. */
  readonly limitedSwap?: boolean;
  /** What of it containers can have for themselves (cpuManagerPolicy, memoryManagerPolicy). Default: nothing. */
  readonly exclusive?: ExclusivePolicies;
  /** What the node is short of. Default: nothing. */
  readonly pressure?: readonly PressureCondition[];
}
