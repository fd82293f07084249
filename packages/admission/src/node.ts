import type { ResourceList } from '@kubus/contracts';

export interface Taint {
  readonly key: string;
  readonly value?: string | undefined;
  /** `NoSchedule`, `PreferNoSchedule` or `NoExecute`. */
  readonly effect: string;
}

/** What the node has and says of itself, as far as it decides which pods it takes. */
export interface AdmissionNode {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly taints: readonly Taint[];
  /** What there is for pods: `cpu`, `memory`, `pods`, `ephemeral-storage`, `hugepages-…` and extended resources. */
  readonly allocatable: ResourceList;
  /** Names of sysctls that pods may set, or beginnings of names that end with `*`. */
  readonly sysctls: readonly string[];
  /** The kernel enforces AppArmor profiles. */
  readonly appArmor: boolean;
  /** The runtime can leave out the groups that an image gives its user. */
  readonly strictSupplementalGroups: boolean;
}
