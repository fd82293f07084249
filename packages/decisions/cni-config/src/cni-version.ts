/** Every version of the CNI protocol, oldest first (CNI SPEC.md, "Released versions"). */
export const CNI_VERSIONS = ['0.1.0', '0.2.0', '0.3.0', '0.3.1', '0.4.0', '1.0.0', '1.1.0'] as const;

export type CniVersion = (typeof CNI_VERSIONS)[number];

/** The newest protocol version that Kubus supports. */
export const NEWEST_CNI_VERSION: CniVersion = '1.1.0';

export function isCniVersion(text: string): text is CniVersion {
  return (CNI_VERSIONS as readonly string[]).includes(text);
}

/** Whether `version` is `minimum` or newer. */
export function isAtLeast(version: CniVersion, minimum: CniVersion): boolean {
  return CNI_VERSIONS.indexOf(version) >= CNI_VERSIONS.indexOf(minimum);
}

/**
 * The version in which a network runs: the newest of those that its configuration offers (`cniVersion`, and since 1.1.0
 * the list `cniVersions`) and Kubus supports. Undefined when there is none. A configuration without any version
 * means 0.1.0, as in libcni.
 */
export function chooseVersion(offered: readonly string[]): CniVersion | undefined {
  return offered.length === 0 ? '0.1.0' : CNI_VERSIONS.findLast((version) => offered.includes(version));
}
